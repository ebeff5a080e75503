"""What `torch.compile(fullgraph=True)` takes as one graph reads nothing on the host."""

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

PROGRAM = """\
import torch
from torch import Tensor


@torch.compile({given})
def adam(p: Tensor, grad: Tensor, average: Tensor, rate: Tensor, bias: Tensor) -> None:
    average.lerp_(grad, 0.1)
    p.mul_(1 - grad.norm().item())


def train(model, loader, state):
    for batch in loader:
        loss = model(batch.cuda())
        loss.backward()
        for p in model.parameters():
            adam(p, p.grad, state[p], state.rate, state.bias)
"""


@pytest.mark.parametrize(
    ("given", "rows"),
    [("fullgraph=True", []), ("dynamic=False, fullgraph=True", []), ("dynamic=False", [8])],
)
def test_a_function_that_is_one_graph_waits_for_nothing(given: str, rows: list[int]) -> None:
    program = PROGRAM.format(given=given)
    found = lint(SourceFile("adam.py", program.encode()), Settings(select=("MPS303",)))
    assert [item.row for item in found] == rows
