"""Texts and positions as editors count them.

The protocol ends lines at `\\n`, `\\r\\n` and a lone `\\r`, as Python's tokenizer does; what
`str.splitlines` also breaks at (form feeds, Unicode separators) ends none. Columns count units of
UTF-8, UTF-16 or UTF-32, whichever client and server agreed on.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property

from lsprotocol.types import Position, PositionEncodingKind, Range

_NEWLINE = re.compile(r"\r\n|\r|\n")


def _utf8(char: str) -> int:
    code = ord(char)
    return 1 if code < 0x80 else 2 if code < 0x800 else 3 if code < 0x10000 else 4


def _utf16(char: str) -> int:
    return 2 if ord(char) > 0xFFFF else 1


def _utf32(char: str) -> int:
    return 1


_WIDTHS = {
    PositionEncodingKind.Utf8: _utf8,
    PositionEncodingKind.Utf16: _utf16,
    PositionEncodingKind.Utf32: _utf32,
}


class Text:
    """One immutable text, and the way between its offsets and an editor's positions."""

    def __init__(self, content: str, encoding: PositionEncodingKind | str) -> None:
        self.content = content
        self.encoding = encoding
        # What the protocol says for an encoding that nobody asked for.
        self._width = _WIDTHS.get(PositionEncodingKind(encoding), _utf16)
        self._ascii = content.isascii()

    @cached_property
    def starts(self) -> list[int]:
        """Offset of the first character of each line."""
        return [0, *(match.end() for match in _NEWLINE.finditer(self.content))]

    def line_end(self, line: int) -> int:
        """Offset of the end of a line, in front of its newline."""
        starts, content = self.starts, self.content
        if line + 1 >= len(starts):
            return len(content)
        end = starts[line + 1]
        return end - (2 if content[max(end - 2, starts[line]) : end] == "\r\n" else 1)

    def offset(self, position: Position) -> int:
        """The offset of a position; one behind the end of its line or of the text is that end, one
        inside a character is its beginning."""
        if position.line >= len(self.starts):
            return len(self.content)
        start, end = self.starts[position.line], self.line_end(position.line)
        if self._ascii:
            return min(start + position.character, end)
        left = position.character
        for at in range(start, end):
            left -= self._width(self.content[at])
            if left < 0:
                return at
        return end

    def position(self, offset: int) -> Position:
        line = bisect_right(self.starts, offset) - 1
        start = self.starts[line]
        if self._ascii:
            return Position(line, offset - start)
        return Position(line, sum(map(self._width, self.content[start:offset])))

    def range(self, start: int, end: int) -> Range:
        return Range(self.position(start), self.position(end))

    def changed(self, new: str, where: Range) -> Text:
        """The text with `new` at a range."""
        start, end = self.offset(where.start), self.offset(where.end)
        start, end = min(start, end), max(start, end)
        return Text(self.content[:start] + new + self.content[end:], self.encoding)
