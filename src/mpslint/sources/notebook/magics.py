"""What IPython adds to Python: line and cell magics, shell lines, help.

Such lines are masked by a statement of the same length, so that offsets stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mpslint.records import NamedTuple

_SCREEN = re.compile(r"^[ \t]*[%!?]|\?[ \t]*$|=[ \t]*[%!]", re.M)
_CELL_MAGIC = re.compile(r"[ \t\r\n]*%%(\w+)")
_PYTHON_BODIES = frozenset({"time", "timeit", "capture", "prun"})
"""Cell magics that run the rest of the cell as Python in the notebook's own namespace."""
_STATEMENT, _VALUE = "pass", "None"
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_MAGIC = re.compile(r"[ \t]*(?:%|!|\?)")
_HELP = re.compile(r"[ \t]*[A-Za-z_%][\w.*%]*\?{1,2}[ \t]*$")
_ASSIGNED = re.compile(r"[ \t]*[A-Za-z_][\w.,\[\]'\" \t]*=[ \t]*(?=[!%])")
_QUOTE = re.compile(r"'''|\"\"\"|'|\"")


class Masked(NamedTuple):
    text: str
    """As long as the cell's own text."""
    spans: tuple[tuple[int, int], ...]
    """What was masked."""


def mask(text: str) -> Masked | None:
    """The cell as Python; None for a cell that another program reads (`%%bash`)."""
    spans: list[tuple[int, int, str]] = []
    at = 0
    cell_magic = _CELL_MAGIC.match(text)
    if cell_magic:
        if cell_magic[1] not in _PYTHON_BODIES:
            return None
        line = _LINE.match(text, cell_magic.start(1))
        at = line.end() if line else len(text)
        spans.append((cell_magic.start(1) - 2, _content_end(text, at), _STATEMENT))
    if _SCREEN.search(text, at):
        spans += _magic_lines(text, at)
    pieces, done = [], 0
    for start, end, word in spans:
        pieces += [text[done:start], _stand_in(text[start:end], word)]
        done = end
    return Masked("".join([*pieces, text[done:]]), tuple((start, end) for start, end, _ in spans))


def _content_end(text: str, line_end: int) -> int:
    """The end of a line without its newline."""
    return len(text[:line_end].rstrip("\r\n")) if line_end else 0


def _stand_in(text: str, word: str) -> str:
    """`word`, or something shorter, and blanks up to the same length; newlines stay."""
    first, *rest = re.split(r"(\r\n|\r|\n)", text)
    word = word if len(first) >= 4 else "..." if len(first) == 3 else "0"
    filled = word + " " * (len(first) - len(word))
    return filled + "".join(part if part[:1] in "\r\n" else " " * len(part) for part in rest)


def _magic_lines(text: str, at: int) -> Iterator[tuple[int, int, str]]:
    """Spans of magics that stand where a statement (or a value) begins."""
    state = _State()
    while at < len(text):
        line = _LINE.match(text, at)
        assert line is not None
        content = text[at : _content_end(text, line.end())]
        if state.at_statement:
            magic = _MAGIC.match(content)
            assigned = _ASSIGNED.match(content)
            if magic or _HELP.match(content):
                start = at + len(content) - len(content.lstrip(" \t"))
                at = _continued(text, at)
                yield start, _content_end(text, at), _STATEMENT
                continue
            if assigned:
                start = at + assigned.end()
                at = _continued(text, at)
                yield start, _content_end(text, at), _VALUE
                continue
        state.feed(content)
        at = line.end()


def _continued(text: str, at: int) -> int:
    """The end of a line and of those that a backslash adds to it."""
    while True:
        line = _LINE.match(text, at)
        assert line is not None
        content_end, at = _content_end(text, line.end()), line.end()
        if at >= len(text) or text[content_end - 1 : content_end] != "\\":
            return at


class _State:
    """Whether a line begins inside brackets, a string or a continued line."""

    def __init__(self) -> None:
        self._string: str | None = None
        self._depth = 0
        self._continued = False

    @property
    def at_statement(self) -> bool:
        return self._string is None and self._depth == 0 and not self._continued

    def feed(self, line: str) -> None:
        at = 0
        self._continued = False
        while at < len(line):
            if self._string is not None:
                at = self._in_string(line, at)
                continue
            char = line[at]
            quote = _QUOTE.match(line, at)
            if quote:
                self._string, at = quote[0], quote.end()
                continue
            if char == "#":
                return
            if char in "([{":
                self._depth += 1
            elif char in ")]}":
                self._depth = max(self._depth - 1, 0)
            elif char == "\\" and at == len(line) - 1:
                self._continued = True
            at += 1
        if self._string is not None and len(self._string) == 1:
            # A plain string ends with its line, unless a backslash carries it on.
            if line.endswith("\\"):
                return
            self._string = None

    def _in_string(self, line: str, at: int) -> int:
        assert self._string is not None
        end = len(line)
        while at < end:
            if line[at] == "\\":
                at += 2
            elif line.startswith(self._string, at):
                at += len(self._string)
                self._string = None
                return at
            else:
                at += 1
        return end
