"""What formats for programs say of a file that could not be checked.

A program that reads one of them may show nobody what stderr holds.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mpslint.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mpslint.findings.results import FileResult

SYNTAX = "invalid-syntax"
UNREAD = "io-error"
"""The names under which ruff reports the same."""


class Unread(NamedTuple):
    path: str
    name: str
    row: int
    column: int
    """1-based; 1, 1 where the reason names no place in the file itself."""
    reason: str


def unread(results: Sequence[FileResult]) -> Iterator[Unread]:
    for result in results:
        if result.error:
            yield _parted(result.path, result.error)


def _parted(path: str, error: str) -> Unread:
    said = error.removeprefix(path)
    placed = re.match(r":(\d+):(\d+): ", said)
    reason = said[placed.end() :] if placed else said.removeprefix(": ")
    row, column = (int(placed[1]), int(placed[2])) if placed else (1, 1)
    name = SYNTAX if "syntax error" in reason else UNREAD
    return Unread(path, name, row, max(1, column), reason)
