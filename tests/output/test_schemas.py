"""The schema of the JSON format describes what `check` prints, and nothing less."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from conftest import CUDA_ONLY, Cli
from published import validate

from .conftest import Printed

# As in test_formats.py.
pytestmark = pytest.mark.xdist_group("every_fixture")

DOCS = Path(__file__).resolve().parents[2] / "docs"
FINDINGS = json.loads((DOCS / "schemas" / "findings-1.schema.json").read_text(encoding="utf-8"))


def printed(cli: Cli, *arguments: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(cli("check", "--output-format", "json", *arguments).out)
    return rows


def test_the_findings_of_every_fixture_are_as_the_schema_says(every_fixture: Printed) -> None:
    rows = every_fixture("json", "rules")
    assert any(row["related"] for row in rows)
    assert {row["fix"]["applicability"] for row in rows if row["fix"]} >= {"safe", "unsafe"}
    validate(rows, FINDINGS)


def test_the_findings_of_notebooks_are_as_the_schema_says(cli: Cli, project: Path) -> None:
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": CUDA_ONLY}
    book = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (project / "book.ipynb").write_text(json.dumps(book))
    rows = printed(cli)
    assert rows[0]["cell"] == 1
    validate(rows, FINDINGS)


def test_the_schema_names_every_field_that_is_printed(cli: Cli, project: Path) -> None:
    (project / "a.py").write_text(CUDA_ONLY)
    (row,) = printed(cli)
    assert set(row) == set(FINDINGS["$defs"]["finding"]["properties"])
    assert set(row) == set(FINDINGS["$defs"]["finding"]["required"])


def _no_code(row: dict[str, Any]) -> None:
    del row["code"]


def _row_zero(row: dict[str, Any]) -> None:
    row["location"]["row"] = 0


def _other_severity(row: dict[str, Any]) -> None:
    row["severity"] = "bad"


@pytest.mark.parametrize("spoil", [_no_code, _row_zero, _other_severity])
def test_the_schema_refuses_what_is_not_printed(
    cli: Cli, project: Path, spoil: Callable[[dict[str, Any]], None]
) -> None:
    (project / "a.py").write_text(CUDA_ONLY)
    rows = copy.deepcopy(printed(cli))
    spoil(rows[0])
    with pytest.raises(jsonschema.ValidationError):
        validate(rows, FINDINGS)
