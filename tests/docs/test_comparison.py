"""What the comparison says of mpslint itself is so."""

from __future__ import annotations

import re
from pathlib import Path

from conftest import Cli

from mpslint.output import FORMATS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "comparison.md").read_text("utf-8")
TABLE, TRIED = PAGE.split("## How each row was tried")
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in TABLE.splitlines()
    if line.startswith("| ") and "---" not in line
]
OURS = {row[0]: row[1] for row in ROWS[1:]}


def test_every_row_has_a_cell_for_each_program() -> None:
    assert len(ROWS) > 20
    assert [row for row in ROWS if len(row) != 6] == []


def test_the_formats_are_those_that_exist() -> None:
    named = [
        name
        for row, cell in OURS.items()
        if row.startswith("Formats")
        for name in re.findall(r"`(\w+)`", cell)
    ]
    assert sorted(named) == sorted(FORMATS)


def test_the_options_of_its_column_exist(cli: Cli) -> None:
    texts = [cli("check", "--help").out, cli("fix", "--help").out]
    options = {
        name for pair in OURS.items() for text in pair for name in re.findall(r"--[\w-]+", text)
    }
    assert len(options) > 5
    assert [name for name in options if not any(name in text for text in texts)] == []


def test_the_versions_and_commands_of_each_other_program_are_given() -> None:
    for program in ROWS[0][2:]:
        assert re.search(rf"{program} \d+\.\d+\.\d+", TABLE), program
        assert f"`{program.lower()} " in TRIED, program


def test_the_example_has_as_many_findings_as_it_says(cli: Cli) -> None:
    example = Path(__file__).resolve().parents[2] / "examples" / "train.py"
    (said,) = re.findall(r"where mpslint finds (\d+),", TABLE)
    assert f"Found {said} errors." in cli("check", str(example)).out
