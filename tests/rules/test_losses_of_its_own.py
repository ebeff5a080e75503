"""Who makes a loss beside the model that he is given trains on the device of others all the same,
in a project that speaks of a GPU at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

_TRAINING = """import torch


def run_epoch(model, batches, optimizer):
    criterion = {made}
    total = 0.0
    for x, y in batches():
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total
"""
_ON_A_GPU = """import torch

from training import run_epoch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def start(model, batches, optimizer):
    return run_epoch(model.to(device), lambda: batches, optimizer)
"""
_ON_THE_CPU = """from training import run_epoch


def start(model, batches, optimizer):
    return run_epoch(model, lambda: batches, optimizer)
"""


def rows(cli: Cli, project: Path, made: str, program: str) -> list[int]:
    """The lines of the module that trains which are told beside such a program."""
    (project / "pyproject.toml").write_text("")
    (project / "training.py").write_text(_TRAINING.format(made=made))
    (project / "program.py").write_text(program)
    ran = cli("check", "--no-cache", "--output-format", "json", "training.py")
    return [item["location"]["row"] for item in json.loads(ran.out)]


@pytest.mark.parametrize(
    "made",
    [
        "torch.nn.CrossEntropyLoss()",
        "torch.nn.modules.loss.MSELoss()",
        "torch.nn.BCEWithLogitsLoss(reduction='sum')",
    ],
)
def test_what_has_no_weights_is_no_model(cli: Cli, project: Path, made: str) -> None:
    assert rows(cli, project, made, _ON_A_GPU) == [12]


@pytest.mark.parametrize(
    "made",
    [
        "torch.nn.AdaptiveLogSoftmaxWithLoss(8, 100, [10])",
        "torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.Softmax())",
    ],
)
def test_what_has_weights_is_one_that_the_file_keeps(cli: Cli, project: Path, made: str) -> None:
    assert rows(cli, project, made, _ON_A_GPU) == []


def test_a_project_without_a_gpu_waits_for_none(cli: Cli, project: Path) -> None:
    assert rows(cli, project, "torch.nn.CrossEntropyLoss()", _ON_THE_CPU) == []
