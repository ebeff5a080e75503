"""What moves behind a test of a device for CUDA goes to that device, and the test is gone."""

from __future__ import annotations

import pytest

from mpslint.fixer import fix_source
from mpslint.settings import Settings
from mpslint.source import SourceFile

PROGRAM = """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = torch.nn.Linear(4, 2).to(device)
mean = torch.zeros(4)
std = torch.ones(4)
MOVE
print(net((torch.ones(3, 4, device=device) - mean) / std))
"""


def fixed(move: str) -> str:
    source = SourceFile("program.py", PROGRAM.replace("MOVE", move).encode())
    return fix_source(source, Settings()).text


@pytest.mark.parametrize(
    "test",
    [
        'device.type == "cuda"',
        'device == torch.device("cuda")',
        '"cuda" in str(device)',
        'str(device).startswith("cuda")',
        '"cuda" == device.type',
    ],
)
def test_the_device_that_is_asked_is_where_it_goes(test: str) -> None:
    text = fixed(f"if {test}:\n    mean, std = mean.cuda(), std.cuda()")
    assert "\nmean, std = mean.to(device), std.to(device)\n" in text
    assert 'torch.device("mps")' in text


def test_a_choice_between_two_values_does_the_same() -> None:
    text = fixed('mean = mean.cuda() if device.type == "cuda" else mean\nstd = std.to(device)')
    assert "\nmean = mean.to(device)\n" in text
    assert 'torch.device("mps")' in text


def test_who_asks_a_device_of_an_object_goes_there() -> None:
    text = fix_source(
        SourceFile(
            "trainer.py",
            b"import torch\n\n\nclass Trainer:\n    def __init__(self, cfg):\n"
            b"        self.cfg = cfg\n\n    def hidden(self, n):\n        h = torch.zeros(1, n)\n"
            b'        if self.cfg.device == "cuda":\n            h = h.cuda()\n        return h\n',
        ),
        Settings(),
    ).text
    assert "        h = h.to(self.cfg.device)\n        return h\n" in text


def test_a_device_that_may_be_text_is_not_asked_for_its_type() -> None:
    text = fix_source(
        SourceFile(
            "step.py",
            b"import torch\n\n\ndef step(model, train_loader, args):\n"
            b"    for batch, target in train_loader:\n"
            b'        if args.device == "cuda":\n'
            b"            batch = batch.cuda(non_blocking=True)\n        model(batch)\n",
        ),
        Settings(),
    ).text
    assert "batch.to(args.device, non_blocking=torch.cuda.is_available())" in text


@pytest.mark.parametrize(
    "move",
    [
        'if device.type == "cuda" and std.sum() > 3:\n    mean, std = mean.cuda(), std.cuda()',
        'if device.type == "cuda":\n    mean, std = mean.cuda(), std.cuda()\n    print("on CUDA")',
        'kind = read()\nif kind == "cuda":\n    mean, std = mean.cuda(), std.cuda()',
    ],
)
def test_a_test_that_decides_more_than_the_place_stays(move: str) -> None:
    assert move in fixed(move)


@pytest.mark.parametrize(
    "loop",
    [
        "for key in batch:\n        batch[key] = batch[key].cuda()",
        "for key, value in batch.items():\n        if torch.is_tensor(value):\n"
        "            batch[key] = value.cuda()",
    ],
)
def test_a_loop_that_only_moves_goes_along(loop: str) -> None:
    text = fixed(
        "batch = read()\nif torch.cuda.is_available():\n"
        f"    mean, std = mean.cuda(), std.cuda()\n    {loop}"
    )
    assert ".to(device)\nprint" in text
    assert "cuda()" not in text


def test_a_loop_that_does_more_than_move_keeps_its_test() -> None:
    move = (
        "batch = read()\nif torch.cuda.is_available():\n    for key, value in batch.items():\n"
        "        batch[key] = value.cuda() * 2"
    )
    assert move in fixed(move)
