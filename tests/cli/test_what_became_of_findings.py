"""`fix` counts what `check` promised apart from what its own fixes bring up or take along."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from conftest import Cli

from mpslint.findings.tally import Tally, tally

RAISED = """\
import torch

device = torch.device("cuda") if torch.cuda.is_available() else torch.device("cpu")
weights = torch.ones(3, dtype=torch.float64).to(device)
"""
"""Nothing is wide on MPS as long as nothing goes there."""


@pytest.fixture
def raising(project: Path) -> Path:
    path = project / "raising.py"
    path.write_text(RAISED)
    return path


def test_as_many_are_called_fixed_as_were_called_fixable(cli: Cli, raising: Path) -> None:
    assert "[*] 1 fixable with `mpslint fix`." in cli("check", "raising.py").out
    assert "Found 1 error (1 fixed, 0 remaining).\n" in cli("fix", "--no-verify", "raising.py").out


def test_what_a_fix_brought_up_has_a_line_of_its_own(cli: Cli, raising: Path) -> None:
    out = cli("fix", "--no-verify", "raising.py").out
    assert out.endswith("Fixes brought up 1 more (1 fixed, 0 remaining).\n")


def test_a_diff_says_the_same(cli: Cli, raising: Path) -> None:
    assert cli("fix", "--diff", "raising.py").err == (
        "Would fix 1 error in 1 file.\nFixes brought up 1 more (1 fixed, 0 remaining).\n"
    )


def test_nothing_is_said_of_what_nothing_brought_up(cli: Cli, project: Path) -> None:
    (project / "plain.py").write_text("import torch\n\nx = torch.ones(3).cuda()\n")
    assert "brought up" not in cli("fix", "--no-verify", "plain.py").out


class TestTheFindingsOfAFile:
    def test_that_are_fixed_count_once_however_often_fixes_touch_them(self) -> None:
        found = Counter([("MPS101", 3)])
        assert tally(found, [("MPS101", 3), ("MPS101", 3)], []) == Tally(fixed=1, raised_fixed=1)

    def test_that_go_with_the_fix_of_another_are_neither_fixed_nor_left(self) -> None:
        found = Counter([("MPS101", 3), ("MPS207", 4)])
        assert tally(found, [("MPS101", 3)], []) == Tally(fixed=1, gone=1)

    def test_that_are_left_in_another_row_did_not_come_up(self) -> None:
        found = Counter([("MPS101", 3), ("MPS207", 4)])
        assert tally(found, [("MPS101", 3)], [("MPS207", 3)]) == Tally(fixed=1, left=1)

    def test_of_another_code_that_are_left_came_up(self) -> None:
        found = Counter([("MPS101", 3)])
        assert tally(found, [("MPS101", 3)], [("MPS303", 3)]) == Tally(fixed=1, raised_left=1)
