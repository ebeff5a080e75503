"""The editor's side of a text: what it holds, how it counts, and what `check` says of it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from lsprotocol import types

from mpslint.checking.checking import check_bytes
from mpslint.errors import BadSource
from mpslint.settings.file import SettingsFinder

Row = tuple[int, int, int, int, str, str]
"""Row, column, end row, end column (1-based, in characters), code, message."""
_CODECS = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}
_UNITS = {"utf-8": 1, "utf-16": 2, "utf-32": 4}


def lines_of(text: str) -> list[str]:
    return re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z", text) or [""]


class Buffer:
    """A text that is edited at character offsets and tells where that is in an editor's units."""

    def __init__(self, text: str, encoding: str = "utf-16") -> None:
        self.text, self.encoding = text, encoding

    def position(self, offset: int) -> types.Position:
        before = self.text[:offset]
        starts = [match.end() for match in re.finditer(r"\r\n|\r|\n", before)]
        if before.endswith("\r") and self.text[offset : offset + 1] == "\n":
            starts.pop()
        line = before[starts[-1] if starts else 0 :]
        codec = _CODECS[self.encoding]
        return types.Position(len(starts), len(line.encode(codec)) // _UNITS[self.encoding])

    def offset(self, position: types.Position) -> int:
        lines = lines_of(self.text)
        start = sum(map(len, lines[: position.line]))
        if position.line >= len(lines):
            return len(self.text)
        codec, unit = _CODECS[self.encoding], _UNITS[self.encoding]
        raw = lines[position.line].encode(codec)[: position.character * unit]
        return start + len(raw.decode(codec))

    def replace(self, start: int, end: int, new: str) -> tuple[int, int, int, int, str]:
        """Edit the text; the change as the editor sends it."""
        one, two = self.position(start), self.position(end)
        self.text = self.text[:start] + new + self.text[end:]
        return one.line, one.character, two.line, two.character, new

    def applied(self, edits: Iterable[types.TextEdit]) -> str:
        """The text after edits that came from the server."""
        text = self.text
        places = [(self.offset(e.range.start), self.offset(e.range.end), e.new_text) for e in edits]
        for start, end, new in sorted(places, reverse=True):
            text = text[:start] + new + text[end:]
        return text

    def rows(self, diagnostics: Iterable[types.Diagnostic]) -> list[Row]:
        """Diagnostics by rows and columns in characters."""
        return sorted(
            (*self._place(one.range.start), *self._place(one.range.end), _code(one), one.message)
            for one in diagnostics
        )

    def _place(self, position: types.Position) -> tuple[int, int]:
        start = sum(map(len, lines_of(self.text)[: position.line]))
        return position.line + 1, self.offset(position) - start + 1


def _code(diagnostic: types.Diagnostic) -> str:
    return str(diagnostic.code) if diagnostic.code else "error"


def checked(path: Path, text: str) -> list[Row]:
    """What a fresh `check` says of a file of this text; of one that does not parse, that alone."""
    settings = SettingsFinder().for_file(str(path))
    try:
        result = check_bytes(str(path), text.encode(), settings, named=False, around={})
    except BadSource as error:
        row, column = error.row or 1, error.column or 1
        line = lines_of(text)[row - 1].rstrip("\r\n") if row <= len(lines_of(text)) else ""
        return [(row, min(column, len(line) + 1), row, len(line) + 1, "error", error.reason)]
    return sorted(
        (f.row, f.column, f.end_row, f.end_column, f.code, f.message) for f in result.findings
    )
