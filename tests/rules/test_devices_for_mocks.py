"""A test that only builds a CUDA device places nothing with it: a function that compares its type
takes it, or a stand-in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

_ROPE = """
import torch


def rope(device):
    {body}
"""
_TEST = """
from types import SimpleNamespace
from unittest.mock import MagicMock

import torch

from models import Model
from rotary import rope


def test_dtype():
    assert rope(torch.device("cuda")) is not None
"""
_STOOD_IN = """
from types import SimpleNamespace
from unittest.mock import MagicMock

import torch

from models import Model


def test_load():
    model = Model.__new__(Model)
    model.accelerator = SimpleNamespace(device=torch.device("cuda:0"))
    {encoder}
    model.load()
"""
_MODELS = """
class Model:
    def load(self):
        self.encoder.to(self.accelerator.device)
"""


def _told(cli: Cli, project: Path, test: str, rope: str = "return 0") -> list[str]:
    (project / "rotary.py").write_text(_ROPE.format(body=rope).lstrip("\n"))
    (project / "models.py").write_text(_MODELS.lstrip("\n"))
    (project / "test_models.py").write_text(test.lstrip("\n"))
    found = json.loads(cli("check", "--output-format", "json", ".").out)
    return [item["code"] for item in found if Path(item["filename"]).name == "test_models.py"]


@pytest.mark.parametrize(
    "rope",
    [
        'return torch.float32 if device.type in {"mps", "npu"} else torch.float64',
        'return 1 if device == torch.device("cuda") else 2',
        'return device.index != 0 and device.type == "cuda"',
    ],
)
def test_a_function_that_only_compares_places_nothing(cli: Cli, project: Path, rope: str) -> None:
    assert not _told(cli, project, _TEST, rope)


@pytest.mark.parametrize(
    "rope",
    [
        "return torch.zeros(3, device=device)",
        "return torch.zeros(3, device=device.type)",
        'return torch.zeros(3, device=device) if device.type != "cpu" else 0',
    ],
)
def test_one_that_makes_something_there_is_told(cli: Cli, project: Path, rope: str) -> None:
    assert _told(cli, project, _TEST, rope) == ["MPS101"]


def test_what_a_mock_is_given_is_placed_nowhere(cli: Cli, project: Path) -> None:
    assert not _told(cli, project, _STOOD_IN.format(encoder="model.encoder = MagicMock()"))


def test_what_a_model_is_given_is(cli: Cli, project: Path) -> None:
    encoder = "model.encoder = torch.nn.Linear(2, 2)"
    assert _told(cli, project, _STOOD_IN.format(encoder=encoder)) == ["MPS101"]
