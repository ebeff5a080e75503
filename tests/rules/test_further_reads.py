"""A finding that stands for several reads names the places of the others."""

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

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


LISTED = """
import torch

def listed(model, x, sizes):
    parts = torch.split(model(x.cuda()), sizes)
    whole = model(x.cuda()) + 1
    rows = [row.tolist() for row in whole]
    for i in range(len(sizes)):
        keep({copied})
    return parts, rows
"""


def _lines(copied: str, *codes: str) -> list[tuple[str, int]]:
    source = SourceFile("program.py", LISTED.format(copied=copied).encode())
    found = lint(source, Settings(select=codes))
    return [(finding.code, finding.row) for finding in found]


def test_a_read_that_two_rules_know_is_told_by_one() -> None:
    assert _lines("i", "MPS303", "MPS304") == [("MPS303", 7)]
    assert _lines("i", "MPS304") == [("MPS304", 7)]


def test_a_copy_that_is_no_read_of_elements_is_told_as_a_copy() -> None:
    told = [("MPS303", 7), ("MPS304", 9)]
    assert _lines("whole[i].cpu()", "MPS303", "MPS304") == told
