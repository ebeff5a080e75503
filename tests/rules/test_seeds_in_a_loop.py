"""Functions that seed, which a loop calls one by one."""

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

PROGRAM = """\
import random

import numpy as np
import torch

device = "mps" if torch.backends.mps.is_available() else "cpu"


def seed(s):
    for f in ({}):
        f(s)
    {}


seed(1)
print(torch.randn(3, device=device))
"""


def told(functions: str, more: str = "pass") -> list[tuple[str, int]]:
    text = PROGRAM.format(functions, more)
    found = lint(SourceFile("program.py", text.encode()), Settings())
    return [(one.code, one.row) for one in found]


@pytest.mark.parametrize("functions", ["torch.manual_seed, random.seed, np.random.seed"])
def test_a_loop_that_seeds_torch_seeds_every_device(functions: str) -> None:
    assert not told(functions, "torch.cuda.manual_seed(s)")


def test_a_loop_that_seeds_others_leaves_mps_out() -> None:
    others = "random.seed, np.random.seed"
    assert told(others, "torch.cuda.manual_seed(s)") == [("MPS204", 12)]


@pytest.mark.parametrize(
    "functions",
    ["torch.cuda.manual_seed, torch.cuda.manual_seed_all", "random.seed, torch.cuda.manual_seed"],
)
def test_a_loop_that_seeds_cuda_alone_is_told_once(functions: str) -> None:
    assert told(functions) == [("MPS204", 11)]


def test_a_loop_that_seeds_cuda_and_all_is_silent() -> None:
    assert not told("torch.cuda.manual_seed_all, torch.manual_seed")
