"""Models that nobody moves, and values that are the CPU's, or arrays, wherever the model is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile
from tests.conftest import Cli

SHOWN = """\
import matplotlib.pyplot as plt
import numpy as np
import torch
from segmenters import build_segmenter

model = build_segmenter().cuda()
x = torch.zeros(3).cuda()
batch = {{"img": x}}
{}
"""


def told(text: str) -> bool:
    """By default, which is what is certain."""
    found = lint(SourceFile("program.py", text.encode()), Settings())
    return any(one.code == "MPS301" for one in found)


@pytest.mark.parametrize(
    "read",
    [
        'plt.imshow(model(**batch)[0]["mask"])',
        'plt.imshow(model(**batch)["mask"][0])',
        'np.asarray(model(x)["mask"])',
    ],
)
def test_what_an_unread_model_keeps_under_a_text_may_be_an_array(read: str) -> None:
    assert not told(SHOWN.format(read))


@pytest.mark.parametrize(
    "read",
    [
        "plt.imshow(model(x))",
        "plt.imshow(model(x)[0])",
        "np.asarray(model(x)[0])",
        'model(x)["mask"].numpy()',
    ],
)
def test_a_tensor_that_a_model_gives_on_the_device_is_told_for_certain(read: str) -> None:
    assert told(SHOWN.format(read))


PROMPTED = """\
import torch


def predict(config, image, points):
    image = {}
    points = torch.tensor(points).cuda()
    prompts = {{"points": points, "box": None}}
    model = config.model
    masks = model(image, prompts)
    return (masks[0] > 0).numpy()
"""


def test_a_model_brings_what_lies_in_a_dictionary_to_an_image_of_the_cpu() -> None:
    assert not told(PROMPTED.format("torch.tensor(image)"))


def test_what_lies_in_a_dictionary_says_where_the_model_is_beside_an_image_there() -> None:
    assert told(PROMPTED.format("torch.tensor(image).cuda()"))


TRAINING = """\
import torch
from nets import Net
{before}
model = Net(4, 2)
optimizer = torch.optim.Adam(model.parameters())
criterion = torch.nn.MSELoss()
{then}


def error(scores, y):
    return (scores - y).detach().cpu().numpy()


def train(loader):
    for x, y in loader:
        scores = model(x)
        loss = criterion(scores, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(loss)
        error(scores, y)
"""
_NET = """\
import torch


class Net(torch.nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.layer = torch.nn.Linear(a, b){}

    def forward(self, x):
        return self.layer(x)


make = Net
"""


def read_back(
    cli: Cli, project: Path, net: str = "", before: str = "", then: str = "model.train()"
) -> set[str]:
    (project / "pyproject.toml").write_text("")
    (project / "nets.py").write_text(_NET.format(net))
    (project / "train.py").write_text(TRAINING.format(before=before, then=then))
    ran = cli("check", "--no-cache", "--output-format", "json", "train.py")
    return {item["code"] for item in json.loads(ran.out)} & {"MPS303", "MPS304", "MPS305"}


def test_a_program_that_moves_its_model_nowhere_reads_nothing_back(cli: Cli, project: Path) -> None:
    assert read_back(cli, project) == set()


@pytest.mark.parametrize(
    ("net", "before", "then"),
    [
        (".cuda()", "", ""),
        ("", "", "place(model)"),
        ("", "", "model.place()"),
        ("", "", "other = torch.optim.SGD(make().parameters())"),
        ("", "from nets import make as Net", ""),
    ],
    ids=["its class does", "somebody may", "a method may", "of another model", "made elsewhere"],
)
def test_a_model_that_may_be_moved_out_of_sight_is_read_back(
    cli: Cli, project: Path, net: str, before: str, then: str
) -> None:
    assert "MPS305" in read_back(cli, project, net, before, then)


_SAMPLES = """\
import torch
from samples import sample


def run(model, steps, device):
    x = torch.zeros(3).to(device)
    for k in range(steps):
        x = model(x)
        made = sample(model, k, device=device)[0]
        print(f"{made[-1]:.2f}")
"""


@pytest.mark.parametrize(
    ("given", "codes"),
    [
        ("np.stack([run.cpu().numpy()])", []),
        ("run", ["MPS305"]),
        ("run, k", ["MPS305"]),
    ],
    ids=["an array", "a tensor", "a pair"],
)
def test_a_function_of_another_file_that_gives_an_array_has_read_it_back(
    cli: Cli, project: Path, given: str, codes: list[str]
) -> None:
    (project / "pyproject.toml").write_text("")
    (project / "samples.py").write_text(
        "import numpy as np\n\n\ndef sample(model, k, device):\n"
        f"    run = model(k, device)\n    return {given}\n"
    )
    (project / "program.py").write_text(_SAMPLES)
    ran = cli("check", "--no-cache", "--select", "MPS305", "--output-format", "json", "program.py")
    assert [item["code"] for item in json.loads(ran.out)] == codes


_DRAWN = """\
import torch
from hands import Hands

net = Hands().cuda()
marks = net(torch.zeros(1, 3).cuda())
drawn = {}
print(drawn[0].numpy())
"""


@pytest.mark.parametrize(
    ("drawn", "is_told"),
    [
        ("net.scaled(marks.cpu(), 3)", False),
        ("net.scaled(marks=marks.cpu())", False),
        ("net.scaled(marks, 3)", True),
        ("marks.add(torch.tensor(3).cpu())", True),
    ],
)
def test_a_method_of_a_model_that_is_given_a_copy_may_give_it_back(
    drawn: str, is_told: bool
) -> None:
    assert told(_DRAWN.format(drawn)) is is_told
