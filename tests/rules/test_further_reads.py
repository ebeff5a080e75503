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


PARTS = """
import time
import torch

model = torch.nn.Linear(4, 2).cuda()
for x in loader:
    t0 = time.time()
    loss = model(x.cuda()).sum()
    t1 = time.time()
    loss.backward()
    t2 = time.time()
    optimizer.step()
    spent = (t1 - t0, t2 - t1)
    total += loss.item()
"""


def test_the_times_of_the_parts_of_a_step_are_told_together_and_repaired_at_once() -> None:
    source = SourceFile("program.py", PARTS.encode())
    (finding,) = lint(source, Settings(select=("MPS601",)))
    assert finding.row == 9
    assert [label.row for label in finding.labels if "as well" in label.message] == [11]
    fix = finding.fix
    assert fix is not None
    assert len(fix.edits) == 3


def test_two_times_outside_of_loops_are_two_findings() -> None:
    text = PARTS.replace("for x in loader:", "if x is not None:")
    found = lint(SourceFile("program.py", text.encode()), Settings(select=("MPS601",)))
    assert [finding.row for finding in found] == [9, 11]
