"""What stands below a flag that its own arm switches over is done once, whatever the flag is kept
in; an arm that leaves the flag as it is may be run at each turn."""

from __future__ import annotations

import ast

import pytest

from mpslint.checking.linter import lint
from mpslint.semantics.loops.loop_tests import holds_once
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile


def once(text: str) -> bool:
    (branch,) = ast.parse(text).body
    assert isinstance(branch, ast.If)
    return holds_once(branch.test, branch.body)


@pytest.mark.parametrize(
    "text",
    [
        "if start: start = False",
        "if not self.ready: self.ready = True",
        "if not self.ready: self.ready.fill_(1)",
        "if not self.ready: self.ready.data.copy_(torch.Tensor([True]))",
        "if not self.ready.item(): self.ready += 1",
        "if self.ready == 0: self.ready = torch.ones(1)",
        "if self.fresh[0] is True: self.fresh.zero_()",
        "if not bool(self.ready): self.ready[0] = 1",
        "if not self.ready:\n with torch.no_grad():\n  x = 1\n  self.ready.fill_(1)",
        "if first is None: first = loss",
        "if not hasattr(self, 'seen'): self.seen = {}",
    ],
)
def test_an_arm_that_switches_its_flag_over_is_run_once(text: str) -> None:
    assert once(text)


@pytest.mark.parametrize(
    "text",
    [
        "if self.ready: self.ready = True",
        "if not self.ready: self.ready.fill_(0)",
        "if not self.ready: self.ready = done",
        "if not self.ready: self.other.fill_(1)",
        "if not self.ready:\n if x: self.ready.fill_(1)",
        "if self.ready == 2: self.ready += 1",
        "if not self.ready and x: self.ready.fill_(1)",
        "if first is None: first = None",
        "if self.ready > 0: self.ready = 0",
    ],
)
def test_one_that_does_not_may_be_run_again(text: str) -> None:
    assert not once(text)


MODULE = """\
import torch
from torch import nn


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("ready", torch.tensor(0))
        self.weight = nn.Parameter(torch.ones(3))

    def prepare(self):
        self.weight.data.copy_(torch.tensor([1.0, 2.0, 3.0]).to(self.weight))
        {switch}

    def forward(self, x):
        if not self.ready:
            self.prepare()
        return x * self.weight


device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
print(Scale().to(device)(torch.ones(3, device=device)))
"""


@pytest.mark.parametrize(
    ("switch", "told"), [("self.ready.fill_(1)", 0), ("self.ready.fill_(0)", 1)]
)
def test_a_method_that_switches_the_flag_over_is_called_once(switch: str, told: int) -> None:
    source = SourceFile("scale.py", MODULE.format(switch=switch).encode())
    assert len(lint(source, Settings(select=("MPS310",)))) == told
