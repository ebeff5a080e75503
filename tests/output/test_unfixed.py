"""Where there is no fix for a finding, one clause says why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli

from mpslint.rules.registry import all_rules

from .conftest import Printed

# As in test_formats.py.
pytestmark = pytest.mark.xdist_group("every_fixture")

NUMBERED = """\
import torch


def run(model, args):
    return model(torch.ones(2).cuda(args.gpu))


def later(args):
    args.gpu = 1
"""
UNSEEN = (
    "no fix: `args.gpu`, the number of the GPU, gets its value in more than one place, or unseen"
)


def rows(cli: Cli, *arguments: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(
        cli("check", "--output-format", "json", *arguments).out
    )
    return found


def test_the_clause_stands_below_the_line_of_the_finding(cli: Cli, project: Path) -> None:
    (project / "a.py").write_text(NUMBERED)
    lines = cli("check").out.splitlines()
    assert UNSEEN in lines
    (row,) = [row for row in rows(cli) if row["code"] == "MPS102"]
    assert f"no fix: {row['no_fix']}" == UNSEEN


def test_where_there_is_a_fix_nothing_is_said(cli: Cli, project: Path) -> None:
    (project / "a.py").write_text(NUMBERED.replace("    args.gpu = 1\n", "    args.cpu = 1\n"))
    assert "no fix:" not in cli("check").out
    assert {row["no_fix"] for row in rows(cli) if row["fix"]} <= {None}


def test_a_second_run_from_the_cache_says_it_too(cli: Cli, project: Path) -> None:
    (project / "a.py").write_text(NUMBERED)
    assert cli("check").out == cli("check").out
    assert UNSEEN in cli("check").out


def test_each_finding_without_a_fix_says_why(every_fixture: Printed) -> None:
    found = every_fixture("json", "rules")
    assert found
    assert {row["code"] for row in found if not row["fix"] and not row["no_fix"]} == set()


@pytest.mark.parametrize("rule", all_rules(), ids=lambda r: r.code)
def test_each_rule_has_a_clause_for_what_it_does_not_fix(rule: Any) -> None:
    assert rule.unfixed
    assert rule.unfixed[0].islower() or rule.unfixed.startswith("MPS")
    assert not rule.unfixed.endswith(".")


def test_a_fix_that_leaves_a_file_as_it_is_says_why_as_check_does(cli: Cli, project: Path) -> None:
    (project / "a.py").write_text(NUMBERED)
    assert UNSEEN in cli("fix", "--no-verify", ".").out.splitlines()


def test_numbers_that_are_only_gathered_are_not_said_to_be_needed(cli: Cli, project: Path) -> None:
    (project / "a.py").write_text(
        "import torch\n\n\ndef evaluate(model, loader):\n    model.cuda().eval()\n    losses = []\n"
        "    with torch.no_grad():\n        for batch in loader:\n"
        "            losses.append(model(batch.cuda()).mean().item())\n"
        "    return sum(losses) / len(losses)\n"
    )
    (row,) = rows(cli, "--select", "MPS303")
    assert "nothing in it needs the number" in row["message"]
    assert "the number is needed here" not in row["no_fix"]
