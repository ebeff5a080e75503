"""Where the cells stand in the JSON text of a notebook (nbformat 4).

The standard parser says whether the file is JSON; a walk over its outer layers, with the same
parser for all that is skipped, says where the source strings are.
"""

from __future__ import annotations

import json
import re
from json.decoder import scanstring  # type: ignore[attr-defined]  # not in typeshed
from typing import Any

from mpslint.errors import BadSource
from mpslint.records import NamedTuple

_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder(strict=False)


class Token(NamedTuple):
    """One JSON string: offsets of its content (without quotes), and what it means."""

    start: int
    end: int
    text: str


class Cell(NamedTuple):
    number: int
    """1-based, all kinds of cells counted, as people and other tools count them."""
    tokens: tuple[Token, ...]
    in_list: bool
    """The source is a list of lines, not one string."""

    @property
    def text(self) -> str:
        return "".join(token.text for token in self.tokens)


class Document(NamedTuple):
    language: str
    cells: tuple[Cell, ...]
    """The code cells that are in the notebook's language."""


_LARGE = 1 << 16
"""A notebook of so many bytes has most of them in its outputs: pictures."""


def without_outputs(data: bytes) -> bytes:
    """A notebook with the same cells at the same rows, and without what they have put out: to be
    kept beside others. What is small, or is no notebook, comes back as it is."""
    if len(data) < _LARGE:
        return data
    try:
        whole = json.loads(data, strict=False)
        for cell in whole["cells"]:
            cell.pop("outputs", None)
            cell.pop("attachments", None)
        return json.dumps(whole, ensure_ascii=False).encode()
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return data


def parse(text: str, path: str) -> Document:
    """The code cells of a notebook. Raises `BadSource` for what is no notebook of format 4."""
    try:
        whole = json.loads(text, strict=False)
    except json.JSONDecodeError as error:
        raise BadSource(path, f"not valid JSON: {error.msg}", error.lineno, error.colno) from None
    except ValueError as error:  # a number of more digits than Python reads
        raise BadSource(path, f"not valid JSON: {error}") from None
    except RecursionError:
        raise BadSource(path, "nested too deeply to read; exclude this file") from None
    if not isinstance(whole, dict) or not isinstance(whole.get("cells"), list):
        raise BadSource(
            path,
            "has no cells of notebook format 4; convert it with `jupyter nbconvert --to notebook`",
        )
    return Document(_language(whole), tuple(_code_cells(text, whole["cells"])))


def _language(whole: dict[str, Any]) -> str:
    """The kernel's language in lower case; notebooks without metadata are Python's."""
    metadata = whole.get("metadata")
    if not isinstance(metadata, dict):
        return "python"
    for key, name in (("language_info", "name"), ("kernelspec", "language")):
        told = metadata.get(key)
        if isinstance(told, dict) and isinstance(told.get(name), str) and told[name]:
            return str(told[name]).lower()
    return "python"


def _code_cells(text: str, parsed: list[Any]) -> list[Cell]:
    cells = []
    for number, (cell, source) in enumerate(zip(parsed, _sources(text), strict=True), 1):
        if source is None or not _is_code(cell):
            continue
        tokens, in_list = source
        cells.append(Cell(number, tokens, in_list))
    return cells


def _is_code(cell: Any) -> bool:
    if not isinstance(cell, dict) or cell.get("cell_type") != "code":
        return False
    metadata = cell.get("metadata")
    editor = metadata.get("vscode") if isinstance(metadata, dict) else None
    language = editor.get("languageId") if isinstance(editor, dict) else None
    return language in (None, "python")


Source = tuple[tuple[Token, ...], bool]


def _sources(text: str) -> list[Source | None]:
    """The source of every cell, in order; None for a cell without one."""
    cells: list[Source | None] = []
    for key, at in _members(text, _skip(text, 0)):
        if key == "cells":
            # Of a repeated key the last one counts, as for the parser.
            cells = [_source(text, item) for item in _items(text, at)]
    return cells


def _source(text: str, at: int) -> Source | None:
    if text[at] != "{":
        return None
    found: Source | None = None
    for key, value in _members(text, at):
        if key != "source":
            continue
        if text[value] == '"':
            found = ((_token(text, value),), False)
        elif text[value] == "[":
            starts = list(_items(text, value))
            strings = all(text[start] == '"' for start in starts)
            found = (tuple(_token(text, start) for start in starts), True) if strings else None
        else:
            found = None
    return found


def _token(text: str, at: int) -> Token:
    value, end = scanstring(text, at + 1, False)
    return Token(at + 1, end - 1, value)


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _members(text: str, at: int) -> list[tuple[str, int]]:
    """(key, offset of the value) of the object that begins at `at`; `text` is valid JSON."""
    found = []
    at = _skip(text, at + 1)
    while text[at] != "}":
        key, at = scanstring(text, at + 1, False)
        at = _skip(text, _skip(text, at) + 1)
        found.append((key, at))
        at = _behind(text, at)
    return found


def _items(text: str, at: int) -> list[int]:
    """Offsets of the values of the array that begins at `at`."""
    found = []
    at = _skip(text, at + 1)
    while text[at] != "]":
        found.append(at)
        at = _behind(text, at)
    return found


def _behind(text: str, at: int) -> int:
    """The offset behind the value at `at` and the comma that may follow."""
    _, end = _DECODER.raw_decode(text, at)
    end = _skip(text, end)
    return _skip(text, end + 1) if text[end] == "," else end
