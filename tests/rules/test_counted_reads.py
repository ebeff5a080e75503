"""How many reads a finding in a training loop speaks of: those that one step can run."""

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

PROGRAM = """
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torch.nn.Linear(4, 2).to(device)
for x in loader:
    loss = model(x.to(device)).sum()
    loss.backward()
    optimizer.step()
    {}
"""


@pytest.mark.parametrize(
    ("line", "end"),
    [
        ("a = loss.item()", "line 6"),
        ("a = loss.item() + loss.item()", "(the first of 2 reads)"),
        ("a = loss.item() + a if a else loss.item()", "line 6"),
        ("a = loss.item() + loss.item() if a else loss.item()", "(the first of 2 reads)"),
        ("a = (loss.item() if a else loss.item()) + loss.item()", "(the first of 2 reads)"),
        ("a = b.sum().item(); c = loss.item()", "(the first of 2 reads)"),
    ],
)
def test_of_two_arms_of_a_choice_one_runs(line: str, end: str) -> None:
    source = SourceFile("program.py", PROGRAM.format(line).encode())
    (finding,) = lint(source, Settings(select=("MPS303",)))
    assert finding.message.endswith(end)
