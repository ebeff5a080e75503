"""What is known to end a program on MPS that a Mac runs on the CPU today is offered at no level."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Cli

CHOOSING = """\
import torch
import torch.nn.functional as F
from torch import nn


class Style(nn.Module):
    def __init__(self):
        super().__init__()
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.net = nn.Conv2d(3, 3, 3).to(self.device)
        self.pool = {pool}

    def forward(self, x, y):
        x = self.net(x.to(self.device))
        return {loss}


{beside}
"""
FINE = {"pool": "nn.AdaptiveAvgPool2d(1)", "loss": "self.pool(x)", "beside": ""}
TRAINER = """\
import torch


class Trainer{bases}:
    def __init__(self, model):
        self.model = model

    def cuda(self):
        self.model.cuda()

    def {method}(self, device):
        if device == "cuda":
            self.cuda()
        elif device == "cpu":
            self.model.cpu()
        {otherwise}
"""
REFUSING = 'else:\n            raise NotImplementedError("no such device", device)'
PROGRAM = """\
import torch
from trainers import Trainer

USE_CUDA = torch.cuda.is_available()
trainer = Trainer(torch.nn.Linear(2, 2))
if USE_CUDA:
    trainer.cuda()
x = torch.ones(2)
x = x.cuda() if USE_CUDA else x
"""


SAVING = """\
import torch


class Model:
    def __init__(self, gpu_ids):
        self.gpu_ids = gpu_ids
        self.device = torch.device(f"cuda:{{gpu_ids[0]}}" if gpu_ids else "cpu")
        self.net = torch.nn.Linear(2, 2).to(self.device)

    def save(self, name):
        net = getattr(self, name)
        if len(self.gpu_ids) > 0 and torch.cuda.is_available():
            torch.save(net.cpu().state_dict(), "net.pt")
            net.cuda(self.gpu_ids[0])
        else:
            torch.save(net{home}.state_dict(), "net.pt")
        {last}
"""


def reasons(cli: Cli, project: Path, **files: str) -> set[str | None]:
    """Why the choices of a program get no fix; None: they get one."""
    for name, text in files.items():
        (project / f"{name}.py").write_text(text)
    told = json.loads(cli("check", "--output-format", "json").out)
    return {one["no_fix"] for one in told if one["code"] in ("MPS102", "MPS103")}


@pytest.mark.parametrize(
    ("other", "named"),
    [
        ({"pool": "nn.AdaptiveAvgPool2d((1, 14))"}, "AdaptiveAvgPool2d((1, 14)) raises on MPS"),
        ({"loss": "F.multi_margin_loss(x, y)"}, "multi_margin_loss has no MPS kernel"),
    ],
)
def test_an_operator_without_a_kernel_in_the_class_that_chooses(
    cli: Cli, project: Path, other: dict[str, str], named: str
) -> None:
    (reason,) = reasons(cli, project, main=CHOOSING.format(**{**FINE, **other}))
    assert reason is not None
    assert named in reason


@pytest.mark.parametrize(
    "other",
    [{}, {"beside": "class Other(nn.Module):\n    pool = nn.AdaptiveAvgPool2d((1, 14))"}],
)
def test_an_operator_that_the_class_does_not_come_to(
    cli: Cli, project: Path, other: dict[str, str]
) -> None:
    assert reasons(cli, project, main=CHOOSING.format(**{**FINE, **other})) == {None}


def test_a_model_that_is_saved_from_the_cpu_and_comes_back_to_cuda_alone(
    cli: Cli, project: Path
) -> None:
    told = reasons(cli, project, main=SAVING.format(home=".cpu()", last=""))
    assert any("line 14: net.cuda(self.gpu_ids[0]) brings back" in (one or "") for one in told)


@pytest.mark.parametrize(
    "other", [{"home": "", "last": ""}, {"home": ".cpu()", "last": "net.to(self.device)"}]
)
def test_a_model_that_is_not_taken_to_the_cpu_or_comes_back(
    cli: Cli, project: Path, other: dict[str, str]
) -> None:
    told = reasons(cli, project, main=SAVING.format(**other))
    assert not any("brings back" in (one or "") for one in told)


@pytest.mark.parametrize("bases", ["", "(object)"])
def test_an_object_whose_to_refuses_a_third_device(cli: Cli, project: Path, bases: str) -> None:
    trainer = TRAINER.format(bases=bases, method="to", otherwise=REFUSING)
    told = reasons(cli, project, main=PROGRAM, trainers=trainer)
    assert "line 7: `Trainer.to` fails for a device named mps (trainers.py, line 17)" in told


@pytest.mark.parametrize(
    ("method", "otherwise"),
    [("to", "else:\n            self.model.to(device)"), ("move", REFUSING)],
)
def test_an_object_whose_to_takes_any_device_or_is_not_its_own(
    cli: Cli, project: Path, method: str, otherwise: str
) -> None:
    trainer = TRAINER.format(bases="", method=method, otherwise=otherwise)
    told = reasons(cli, project, main=PROGRAM, trainers=trainer)
    assert not any("fails for a device named mps" in (one or "") for one in told)
