"""What a module makes once and keeps is made in its first forward pass alone; what it makes anew
each time, or asks something else for, is made in each."""

from __future__ import annotations

import textwrap

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

PROGRAM = """\
import torch
from torch import nn

class Rotary(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.d = d
        self.cos = None
        self.tables = {}

    def build(self, x):
BODY

    def forward(self, x):
        self.build(x)
        return x * self.cos[: x.shape[0]]

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
print(Rotary(3).to(device)(torch.rand(3, 3, device=device)))
"""
MADE = "torch.arange(0, self.d, 2).to(x.device)"


def is_told(body: str) -> bool:
    program = PROGRAM.replace("BODY", textwrap.indent(body.replace("MADE", MADE), " " * 8))
    found = lint(SourceFile("program.py", program.encode()), Settings(select=("MPS310",)))
    return bool(list(found))


@pytest.mark.parametrize(
    "body",
    [
        "if self.cos is not None and x.shape[0] <= self.cos.shape[0]:\n    return\n"
        "made = MADE\nself.cos = made.cos()[:, None]",
        "if self.cos is not None:\n    return self.cos\nmade = MADE\nself.cos = made.cos()",
        "if not (self.cos is None or len(self.cos) < len(x)):\n    return\n"
        "made = MADE\nself.cos = made.cos()",
        "if hasattr(self, 'sin'):\n    return\n"
        "made = MADE\nself.register_buffer('sin', made.sin())",
        "if self.cos is None or len(self.cos) < len(x):\n"
        "    made = MADE\n    self.cos, self.sin = made.cos(), made.sin()",
        "if not hasattr(self, 'sin') or len(self.sin) < len(x):\n"
        "    made = MADE\n    self.sin = made.sin()",
        "if len(x) in self.tables:\n    return self.tables[len(x)]\n"
        "made = MADE\nself.tables[len(x)] = made.cos()",
        "if len(x) not in self.tables:\n    made = MADE\n    self.tables[len(x)] = made.cos()",
    ],
)
def test_a_table_that_is_there_already_is_not_made_in_each_pass(body: str) -> None:
    assert not is_told(body)


@pytest.mark.parametrize(
    "body",
    [
        "made = MADE\nself.cos = made.cos()[:, None]",
        "if self.mask is not None:\n    return\nmade = MADE\nself.cos = made.cos()",
        "if self.cos is not None and x.is_contiguous():\n    return\n"
        "made = MADE\nself.cos = made.cos()",
        "if self.cos is not None:\n    self.cos.zero_()\nmade = MADE\nself.cos = made.cos()",
        "if self.cos is not None:\n    return\nmade = MADE\nprint(made.cos())\nself.cos = None",
    ],
)
def test_what_no_table_spares_a_pass_is_told(body: str) -> None:
    assert is_told(body)
