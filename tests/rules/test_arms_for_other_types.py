"""The arm for another type than a parameter has by default is in no ordinary forward pass."""

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

PROGRAM = """\
import torch
import torch.nn.functional as F
from torch import nn

class Positions(nn.Module):
    def __init__(self, size, longest):
        super().__init__()
        self.longest = longest
        self.pe = torch.zeros(1, longest, size)

    def forward(self, x, {offset}):
        return x + self.positions({given}, x.size(1))

    def positions(self, offset, size):
        {test}:
            rows = self.pe[:, offset:offset + size]
        elif isinstance(offset, torch.Tensor) and offset.dim() == 0:
            rows = self.pe[:, offset:offset + size]
        else:
            assert torch.max(offset) + size <= self.longest
            index = offset.unsqueeze(1) + torch.arange(0, size).to(offset.device)
            rows = F.embedding(index, self.pe[0])
        return rows
"""
CODES = ("MPS306", "MPS310")


def told(offset: str, given: str = "offset", test: str = "if isinstance(offset, int)") -> list[str]:
    program = PROGRAM.format(offset=offset, given=given, test=test)
    found = lint(SourceFile("program.py", program.encode()), Settings(select=CODES))
    return [one.code for one in found]


@pytest.mark.parametrize(
    "test",
    [
        "if isinstance(offset, int)",
        "if isinstance(offset, (int, float))",
        "if isinstance(offset, int | float)",
        "if not torch.is_tensor(offset)",
        "if not (isinstance(offset, torch.Tensor) and offset.dim())",
    ],
)
@pytest.mark.parametrize("offset", ["offset=0", "offset: 'int | torch.Tensor' = 0"])
def test_an_offset_that_is_a_number_by_default_is_read_in_no_pass(offset: str, test: str) -> None:
    assert told(offset, test=test) == []


def test_an_offset_that_a_pass_gives_as_a_number_is_read_in_none() -> None:
    assert told("mask=None", given="0") == []


@pytest.mark.parametrize(
    ("offset", "given"),
    [("offset", "offset"), ("offset=None", "offset"), ("offset=0", "x.argmax(0)")],
)
def test_an_offset_that_may_be_a_tensor_as_well_is_told(offset: str, given: str) -> None:
    assert told(offset, given) == list(CODES)


@pytest.mark.parametrize("test", ["if isinstance(offset, str)", "if isinstance(offset, Offset)"])
def test_a_question_that_a_number_does_not_answer_is_told(test: str) -> None:
    assert told("offset=0", test=test) == list(CODES)
