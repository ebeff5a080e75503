"""What stands below a flag that its own arm switches over is done once, whatever the flag is kept
in; an arm that leaves the flag as it is may be run at each turn."""

from __future__ import annotations

import ast

import pytest

from mpslint.semantics.loops.loop_tests import holds_once


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
