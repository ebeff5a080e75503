"""What a function of another file does with the device that it is given is found out there."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.checking.linter import lint
from mpslint.project.neighbours import Neighbours
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

CALL = "import torch\nfrom move import to_device\n\nx = torch.ones(3)\ny = to_device(x, {})\n"
FALLS_BACK = """\
import torch


def to_device(x, device):
    if isinstance(device, str):
        device = torch.device(device)
    if device.type == "cuda" and not torch.cuda.is_available():
        device = torch.device("cpu")
    return x.to(device)
"""
CHOOSES = """\
import torch


def to_device(x, device="cuda"):
    return x.to(device if torch.cuda.is_available() else "cpu")
"""
MOVES = """\
import torch


def to_device(x, device):
    if not torch.cuda.is_available():
        print("no CUDA")
    return x.to(device)
"""
REFUSES = """\
import torch


def to_device(x, device):
    if device == "cuda" and not torch.cuda.is_available():
        raise RuntimeError("no CUDA")
    return x.to(device)
"""
NEVER_MOVES = """\
import torch


def to_device(x, device):
    if torch.cuda.is_available():
        print(device)
    return x
"""


def found(folder: Path, move: str, device: str) -> list[int]:
    (folder / "move.py").write_text(move)
    path = folder / "train.py"
    path.write_text(CALL.format(device))
    settings = Settings(select=("MPS101",))
    source = SourceFile(str(path), path.read_bytes())
    return [finding.row for finding in lint(source, settings, elsewhere=Neighbours(settings))]


@pytest.mark.parametrize("device", ['"cuda"', 'device="cuda:0"', 'torch.device("cuda")'])
@pytest.mark.parametrize("move", [FALLS_BACK, CHOOSES])
def test_a_device_that_the_function_replaces_without_cuda_raises_nothing(
    tmp_path: Path, move: str, device: str
) -> None:
    assert found(tmp_path, move, device) == []


@pytest.mark.parametrize("move", [MOVES, REFUSES, NEVER_MOVES])
def test_a_device_that_it_takes_as_it_is_or_refuses_is_told(tmp_path: Path, move: str) -> None:
    assert found(tmp_path, move, '"cuda"') == [5]
