"""Checkpoints that are loaded by a function which is told their device beforehand."""

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

PROGRAM = """\
from functools import partial

import torch

load = partial({})
net = torch.nn.Linear(2, 2)
net.load_state_dict(load("net.pth"))
"""


def told(loader: str) -> list[str]:
    found = lint(SourceFile("program.py", PROGRAM.format(loader).encode()), Settings())
    return [one.code for one in found]


@pytest.mark.parametrize("loader", ["torch.load", "torch.jit.load"])
@pytest.mark.parametrize("place", ['"cuda:0"', '"cuda"', 'torch.device("cuda")'])
def test_a_loader_that_is_told_cuda_is_told(loader: str, place: str) -> None:
    assert told(f"{loader}, map_location={place}") == ["MPS413"]


@pytest.mark.parametrize(
    "loader",
    [
        'torch.load, map_location="cpu"',
        'torch.load, map_location="cuda" if torch.cuda.is_available() else "cpu"',
        'print, map_location="cpu"',
    ],
)
def test_one_that_loads_to_what_is_there_does_not_raise(loader: str) -> None:
    assert "MPS413" not in told(loader)
