"""The rooms of `src/mpslint`: each says what it is for, and the tables of them are true."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "mpslint"
AT_THE_TOP = {"__init__", "__main__", "errors", "flake8_plugin", "model", "records"}
TABLES = {
    name: (ROOT / name).read_text(encoding="utf-8")
    for name in ("CONTRIBUTING.md", "docs/architecture.md")
}
STARTS = sorted(
    path
    for path in SOURCE.rglob("__init__.py")
    if not {"verify", "startup"} & set(path.relative_to(SOURCE).parts)
)
ROOMS = [path for path in STARTS if path.parent != SOURCE]
IN_WORDS_OF_ITS_OWN = {"cli/", "facts/", "output/", "pages/", "patterns/", "report/", "rules/"} | {
    "semantics/",
    "semantics/worlds/",
    "server/",
    "verify/",
}
"""Rooms that were there before the others: the tables say of them in short what is in them."""
TOLD = sorted(
    (room.replace("src/mpslint/", ""), told)
    for page in TABLES.values()
    for table in re.findall(r"^\| room \|.*\n(?:\|.*\n)+", page, re.MULTILINE)
    for room, told in re.findall(r"^\| `([a-z_/]+/)` \| (.*) \|$", table, re.MULTILINE)
    if room not in IN_WORDS_OF_ITS_OWN
)


def name_of(start: Path) -> str:
    return start.parent.relative_to(SOURCE).as_posix() + "/"


@pytest.mark.parametrize("start", ROOMS, ids=name_of)
def test_a_room_says_what_it_is_for(start: Path) -> None:
    assert ast.get_docstring(ast.parse(start.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "start", [one for one in ROOMS if "notebook" not in one.parts], ids=name_of
)
def test_a_room_stands_in_a_table(start: Path) -> None:
    room = name_of(start)
    assert any(f"`{room}`" in page for page in TABLES.values())


@pytest.mark.parametrize(("room", "told"), TOLD, ids=[room for room, _ in TOLD])
def test_what_a_table_says_of_a_room_is_what_the_room_says_of_itself(room: str, told: str) -> None:
    docstring = ast.get_docstring(ast.parse((SOURCE / room / "__init__.py").read_text("utf-8")))
    assert f"{told}." == docstring


def test_few_modules_lie_outside_of_any_room() -> None:
    assert {path.stem for path in SOURCE.glob("*.py")} == AT_THE_TOP
    assert {path.stem for path in (SOURCE / "semantics").glob("*.py")} == {"__init__", "context"}
