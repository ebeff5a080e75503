"""A finding that stands for several reads names the places of the others."""

from __future__ import annotations

import pytest

from mpslint.linter import lint
from mpslint.settings import Settings
from mpslint.source import SourceFile

PROGRAM = """
import torch

model = torch.nn.Linear(4, 2).cuda()
for x in loader:
    loss = model(x.cuda()).sum()
    loss.backward()
    optimizer.step()
    {}
    {}
"""


@pytest.mark.parametrize(
    ("code", "first", "second"),
    [
        ("MPS303", "a = loss.item()", "b = loss.mean().item()"),
        ("MPS304", "a = loss.cpu()", "b = loss.mean().tolist()"),
        ("MPS305", "print(loss)", "writer.add_scalar('a', loss)"),
        ("MPS306", "a = b if torch.isnan(loss) else c", "b = c if loss.isinf() else a"),
    ],
)
def test_the_reads_of_one_wait_are_told_together(code: str, first: str, second: str) -> None:
    source = SourceFile("program.py", PROGRAM.format(first, second).encode())
    (finding,) = lint(source, Settings(select=(code,)))
    assert finding.row == 9
    assert [label.row for label in finding.labels if "as well" in label.message] == [10]
