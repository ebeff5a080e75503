"""Who wants a GPU, and has none of those that are counted, is given MPS where it is there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Cli

PROGRAM = """\
import torch


def prepare(wanted):
    number = torch.cuda.device_count()
    if wanted > 0 and number == 0:
        print("there is no GPU")
        wanted = 0
    if wanted > number:
        wanted = {least}
    device = {chosen}
    ids = {ids}
    return {given}


device = prepare(1)
"""
PLAIN = {
    "least": "number",
    "chosen": 'torch.device("cuda:0" if wanted > 0 else "cpu")',
    "ids": "list(range(wanted))",
    "given": "device, ids",
}


def fix(cli: Cli, project: Path, other: dict[str, str]) -> dict[str, object] | None:
    (project / "main.py").write_text(PROGRAM.format(**{**PLAIN, **other}))
    found = json.loads(cli("check", "--output-format", "json").out)
    fixes = [one["fix"] for one in found if one["code"] == "MPS103" and one["location"]["row"] == 5]
    return next(iter(fixes), None)


@pytest.mark.parametrize(
    ("other", "written"),
    [
        ({}, 'torch.device("mps"), []'),
        ({"given": "device"}, 'torch.device("mps")'),
        ({"chosen": '"cuda" if wanted > 0 else "cpu"', "given": "device"}, '"mps"'),
    ],
)
def test_it_is_asked_where_they_are_counted(
    cli: Cli, project: Path, other: dict[str, str], written: str
) -> None:
    found = fix(cli, project, other)
    assert found is not None
    (edit,) = found["edits"]  # type: ignore[misc]
    assert edit["content"].split("\n")[:2] == [  # type: ignore[index]
        "    if wanted > 0 and number == 0 and torch.backends.mps.is_available():",
        f"        return {written}",
    ]


@pytest.mark.parametrize(
    "other",
    [
        {"least": "other(number)"},
        {"ids": "list(range(number))"},
        {"chosen": 'torch.device("cuda:0" if number > 0 else "cpu")'},
        {"given": "device, wanted"},
    ],
)
def test_what_is_given_otherwise_is_left(cli: Cli, project: Path, other: dict[str, str]) -> None:
    found = fix(cli, project, other)
    assert found is None or "return" not in json.dumps(found)
