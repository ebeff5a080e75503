"""What a function makes for what it is given goes where that is, whatever machine it runs on."""

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.fixing.fixer import fix_source
from mpslint.model import Applicability
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

CHOSEN = 'torch.device("cuda" if torch.cuda.is_available() else "cpu")'
MASK = """\
import torch


def mask(labels):
    device = {device}
    other = torch.eye(labels.shape[0]).to(device).byte() ^ 1
    first = torch.unsqueeze(other, 2)
    distinct = first * torch.unsqueeze(other, 0)
    equal = torch.eq(torch.unsqueeze(labels, 0), torch.unsqueeze(labels, 1))
    valid = torch.unsqueeze(equal, 2) * (torch.unsqueeze(equal, 1) ^ 1)
    return distinct * valid
"""
GRAPH = """\
import torch


def neighbours(x, k=20, idx=None):
    n = x.size(0)
    x = x.view(n, -1, x.size(2))
    if idx is None:
        idx = nearest(x, k=k)
    device = torch.device("cuda")
    base = torch.arange(0, n, device=device).view(-1, 1, 1) * x.size(2)
    idx = idx + base
    idx = idx.view(-1)
    x = x.transpose(2, 1).contiguous()
    return x.view(n * k, -1)[idx, :]
"""
LAYERS = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(8, 8, batch_first=True)

    def forward(self, x):
        h = torch.zeros(1, x.size(0), 8).to("cuda" if torch.cuda.is_available() else "cpu")
        c = torch.zeros(1, x.size(0), 8).to("cuda" if torch.cuda.is_available() else "cpu")
        out, _ = self.lstm(x, (h, c))
        return out
"""


def fixed(text: str) -> str:
    return fix_source(SourceFile("losses.py", text.encode()), Settings()).text


@pytest.mark.parametrize(
    "device",
    [
        pytest.param(CHOSEN, id="a choice"),
        pytest.param('torch.device("cuda")', id="CUDA"),
        pytest.param('"cuda" if torch.cuda.is_available() else "cpu"', id="a choice of texts"),
        pytest.param(f"(\n        {CHOSEN}\n    )", id="in parentheses"),
    ],
)
def test_what_meets_the_labels_is_where_they_are(device: str) -> None:
    text = fixed(MASK.format(device=device))
    assert "    device = labels.device\n    other = " in text
    assert '"mps"' not in text


def test_so_it_is_where_a_statement_chooses() -> None:
    choice = (
        "if torch.cuda.is_available():\n"
        '        device = torch.device("cuda")\n'
        "    else:\n"
        '        device = torch.device("cpu")'
    )
    text = fixed(MASK.replace("device = {device}", choice))
    assert "labels):\n    device = labels.device\n    other = " in text


def test_a_tensor_keeps_its_device_under_one_name_after_another() -> None:
    assert "    device = x.device\n    base = " in fixed(GRAPH)


def test_what_a_layer_is_given_beside_a_tensor_is_where_that_is() -> None:
    assert fixed(LAYERS).count(".to(x.device)") == 2


def test_a_loop_leaves_a_tensor_where_it_is() -> None:
    loop = "    for _ in range(k):\n        x = x + x.mean(0, keepdim=True) * x\n        x += 1\n"
    assert "    device = x.device\n    base = " in fixed(
        GRAPH.replace("    idx = idx.view(-1)\n", f"    idx = idx.view(-1)\n{loop}")
    )


def test_a_loop_that_moves_it_does_not() -> None:
    loop = "    for _ in range(k):\n        x = x + 1\n        x = moved(x)\n"
    text = fixed(GRAPH.replace("    device =", f"{loop}    device ="))
    assert "x.device" not in text


def test_many_steps_are_followed_at_once() -> None:
    steps = "    x = x + x * x - x\n" * 60
    assert "    device = x.device\n    base = " in fixed(
        GRAPH.replace("    idx = idx.view(-1)\n", f"    idx = idx.view(-1)\n{steps}")
    )


def test_check_offers_it() -> None:
    source = SourceFile("losses.py", MASK.format(device=CHOSEN).encode())
    (finding,) = lint(source, Settings())
    assert finding.applicability is Applicability.SAFE
    assert finding.fix is not None
    assert finding.fix.message == "Use the device of labels"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(
            "    other =", "    labels = labels.to(device)\n    other =", id="labels move to it"
        ),
        pytest.param(
            "    return distinct * valid",
            "    return distinct * valid, torch.zeros(3, device=device)",
            id="something else is made on it",
        ),
        pytest.param(
            "    return distinct * valid",
            "    return distinct * valid, device",
            id="returned",
        ),
        pytest.param(
            "    return distinct * valid", "    return distinct.cpu() * valid", id="they never meet"
        ),
        pytest.param("mask(labels)", "mask(labels=None)", id="there may be no labels"),
        pytest.param(
            "    other =",
            "    labels = torch.from_numpy(labels).to(device)\n    other =",
            id="they are made of an array",
        ),
        pytest.param(
            "    return distinct",
            '    device = torch.device("cpu")\n    return distinct',
            id="it is another one later",
        ),
        pytest.param(
            "torch.cuda.is_available()",
            "torch.cuda.is_available() and labels.shape[0] > 8",
            id="something else is asked",
        ),
    ],
)
def test_else_the_machine_chooses(old: str, new: str) -> None:
    text = fixed(MASK.format(device=CHOSEN).replace(old, new))
    assert "labels.device" not in text
    assert '"mps"' in text


OF_MODULE = MASK.replace("    device = {device}\n", "").replace(
    "\n\ndef", f"\ndevice = {CHOSEN}\n\n\ndef"
)


@pytest.mark.parametrize(
    "more",
    [
        "\n\nnet = torch.nn.Linear(2, 2).to(device)\n",
        "\n\ndef place():\n    return device\n",
        '\n\n__all__ = ["device", "mask"]\n',
    ],
)
def test_a_device_of_the_module_may_serve_more_than_what_is_met(more: str) -> None:
    text = fixed(OF_MODULE + more)
    assert '"mps"' in text
    assert "labels.device" not in text


def test_a_device_of_the_module_that_serves_nothing_else_goes_away() -> None:
    text = fixed(OF_MODULE)
    assert ".to(labels.device).byte()" in text
    assert "cuda" not in text


def test_a_number_is_no_tensor() -> None:
    text = f"""\
import torch


def noise(n, scale):
    device = {CHOSEN}
    return torch.randn(n, device=device) * scale
"""
    assert "scale.device" not in fixed(text)


ITEM = """\
import torch


def blur(batch, use_cuda):
    x = {item}
    noise = torch.zeros(x.size(0), 2)
    if use_cuda:
        noise = noise.cuda()
    return {other} + noise
"""


@pytest.mark.parametrize("item", ['batch["x"]', "batch[0]", "batch[use_cuda]"])
def test_what_holds_tensors_has_no_device_of_its_own(item: str) -> None:
    assert "noise = noise.to(x.device)" in fixed(ITEM.format(item=item, other="x"))


def test_a_tensor_whose_rows_are_read_has_one() -> None:
    text = fixed(ITEM.format(item="batch[:, 0]", other="batch.view(4, 2)"))
    assert "noise = noise.to(batch.device)" in text
