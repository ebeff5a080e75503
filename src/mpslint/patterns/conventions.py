"""How a project lays out its code, as the settings of its own tools say."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from mpslint.records import NamedTuple
from mpslint.sources.files import read_regular

_LARGEST = 1 << 20
_MOST_PARTS = 50
_NARROWEST, _WIDEST = 60, 160
_INI = ("setup.cfg", "tox.ini", ".flake8")
# Fact: Python's configparser.
_SECTION = re.compile(r"^\[([^\]\n]+)\]", re.M)
"""The head of a section of an INI file."""
# Fact: the option of flake8, pycodestyle and EditorConfig, as their documentation spells it.
_MAX_LINE = re.compile(r"^\s*max[-_]line[-_]length\s*[=:]\s*(\d+)", re.M)
# Fact: EditorConfig's `root`.
_ROOT = re.compile(r"^\s*root\s*=\s*true\s*$", re.M | re.I)
"""EditorConfig: no folder above is asked."""


class Conventions(NamedTuple):
    width: int | None
    """How long a line may get; None: nobody says."""
    formatted: bool
    """Whether black, or ruff in its place, is at work."""


def conventions(path: str) -> Conventions:
    """Those of the project that the file at `path` is in; of none where there is no such file."""
    whole = os.path.abspath(path)
    return _of_folder(os.path.dirname(whole)) if os.path.isfile(whole) else Conventions(None, False)


@lru_cache(256)
def _of_folder(folder: str) -> Conventions:
    width, formatted = None, False
    for current in _upwards(folder):
        for name in (".ruff.toml", "ruff.toml", "pyproject.toml"):
            tools = _tables(os.path.join(current, name), whole=name != "pyproject.toml")
            formatted = formatted or "black" in tools or "ruff" in tools
            for tool in ("black", "ruff"):
                width = width or _number(tools.get(tool, {}).get("line-length"))
        for name in _INI:
            text = _text(os.path.join(current, name))
            for section in ("flake8", "pycodestyle"):
                width = width or _largest_line(text, section)
        editor = _text(os.path.join(current, ".editorconfig"))
        for section in ("*.py", "*"):
            width = width or _largest_line(editor, section)
        if _ROOT.search(editor) or os.path.exists(os.path.join(current, ".git")):
            break
    return Conventions(width, formatted)


def _upwards(folder: str) -> Iterator[str]:
    while True:
        yield folder
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above


def _text(path: str) -> str:
    try:
        return read_regular(path, _LARGEST).decode("utf-8", "replace")
    except OSError:
        return ""


def _tables(path: str, *, whole: bool) -> dict[str, dict[str, Any]]:
    """The tables of the tools in a TOML file; `whole`: all of it is ruff's."""
    text = _text(path)
    if not text or any(row.partition("=")[0].count(".") > _MOST_PARTS for row in text.split("\n")):
        return {}  # A key of very many parts takes the reader very long.
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        read = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}
    if whole:
        return {"ruff": read}
    tools = read.get("tool")
    found = tools if isinstance(tools, dict) else {}
    return {name: table for name, table in found.items() if isinstance(table, dict)}


def _largest_line(text: str, section: str) -> int | None:
    pieces = _SECTION.split(text)
    for name, body in zip(pieces[1::2], pieces[2::2], strict=True):
        if name.strip() == section and (found := _MAX_LINE.search(body)):
            return _number(int(found[1]))
    return None


def _number(value: object) -> int | None:
    """A width that lines are written to; a larger one only silences a tool."""
    fits = isinstance(value, int) and _NARROWEST <= value <= _WIDEST
    return value if fits else None  # type: ignore[return-value]
