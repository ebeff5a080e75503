"""What a forward pass makes or keeps on the CPU and copies at each call."""

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

PROGRAM = """\
import torch
from torch import nn

{constant}

class Net(nn.Module):
    {attribute}

    def forward(self, x):
        return x * {made}

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
print(Net().to(device)(torch.rand(3, 3, device=device)))
"""
NUMBERS = "torch.tensor([0.5, 0.4, 0.3])"


def is_told(made: str, constant: str = "", attribute: str = "pass") -> bool:
    program = PROGRAM.format(made=made, constant=constant, attribute=attribute)
    found = lint(SourceFile("program.py", program.encode()), Settings(select=("MPS310",)))
    return bool(list(found))


@pytest.mark.parametrize(
    "made",
    [
        "torch.triu(torch.ones(3, 3), diagonal=1).to(x.device)",
        "torch.tril(torch.ones(3, 3)).bool().to(x.device)",
        "torch.unsqueeze(torch.arange(x.size(0)), 0).to(x.device)",
    ],
)
def test_what_a_function_makes_of_a_factory_and_numbers_could_be_made_there(made: str) -> None:
    assert is_told(made)


@pytest.mark.parametrize(
    "made",
    [
        "torch.triu(torch.ones(3, 3, device=x.device), diagonal=1).to(x.device)",
        "torch.triu(self.mask, diagonal=1).to(x.device)",
        "torch.index_select(torch.ones(3, 3), 0, self.order).to(x.device)",
    ],
)
def test_what_is_made_there_or_of_data_is_told_nothing(made: str) -> None:
    assert not is_told(made)


def test_a_constant_of_the_file_or_class_that_each_forward_pass_copies_is_told() -> None:
    assert is_told("MEAN.to(x.device)", constant=f"MEAN = {NUMBERS}")
    assert is_told("self.mean.to(x.device)", attribute=f"mean = {NUMBERS}")


def test_a_constant_that_lies_there_or_is_set_again_is_told_nothing() -> None:
    there = NUMBERS.replace("])", '], device="mps")')
    assert not is_told("MEAN.to(x.device)", constant=f"MEAN = {there}")
    assert not is_told("MEAN.to(x.device)", constant=f"MEAN = {NUMBERS}\nMEAN = MEAN.to('mps')")
    again = f"mean = {NUMBERS}\n    def put(self): self.mean = self.mean.to('mps')"
    assert not is_told("self.mean.to(x.device)", attribute=again)


_TABLE = """\
import math

import torch
from torch import nn


def places(times, dim, longest=10000):
    half = {half}
    table = torch.exp(-math.log(longest) * {made} / {by}).to(device=times.device)
    return torch.cos(times[:, None].float() * table[None])


class Net(nn.Module):
    def forward(self, times):
        return places(times, 32)
"""


@pytest.mark.parametrize(
    ("made", "by", "rows"),
    [
        ("torch.arange(start=0, end=half)", "half", [9]),
        ("torch.arange(half)", "half", [9]),
        ("torch.arange(half)", "dim", []),
        ("torch.full((3,), half)", "half", []),
    ],
)
def test_what_a_factory_takes_for_a_size_is_a_number(made: str, by: str, rows: list[int]) -> None:
    program = _TABLE.format(half="dim // 2", made=made, by=by)
    found = lint(SourceFile("program.py", program.encode()), Settings(select=("MPS310",)))
    assert [item.row for item in found] == rows
