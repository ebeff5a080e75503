"""The lines that one fix changes, as a diff: made from its edits, so that it costs what they do."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from mpslint.records import NamedTuple
from mpslint.sources.opening import position

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mpslint.model import Edit, Fix
    from mpslint.sources.source import SourceFile

_CONTEXT = 1
"""Unchanged lines that are shown on each side."""
_APART = 2 * _CONTEXT + 1
"""Edits so many rows apart stand in hunks of their own."""
_LONG = 400
"""Hunks of more lines are not compared line by line."""


class Line(NamedTuple):
    """One line of a hunk: its number in the file as it will be, or none where it goes."""

    number: int | None
    sign: str
    """`-`, `+` or a blank."""
    text: str


Hunk = tuple[int | None, list[Line]]
"""The notebook's cell, and the lines."""


def hunks(fix: Fix, source: SourceFile) -> Iterator[Hunk]:
    """What `fix` changes in `source`, from top to bottom."""
    shift: dict[int | None, int] = {}
    for edits in _clusters(fix.edits, source):
        first, last = _rows(edits, source)
        cell, row, _ = position(source, source.starts[first - 1])
        before = [source.line(number) for number in range(first, last + 1)]
        after = _after(edits, source, first, last)
        moved = shift.setdefault(cell, 0)
        lines = [
            *_around(source, cell, range(first - _CONTEXT, first), row + moved - _CONTEXT),
            *_changed(before, after, row + moved),
            *_around(source, cell, range(last + 1, last + 1 + _CONTEXT), row + moved + len(after)),
        ]
        shift[cell] += len(after) - len(before)
        yield cell, lines


def _clusters(edits: Sequence[Edit], source: SourceFile) -> list[list[Edit]]:
    """Edits that are shown in one hunk: near each other, and in one cell."""
    found: list[list[Edit]] = []
    for edit in sorted(set(edits)):
        if found and _near(found[-1][-1], edit, source):
            found[-1].append(edit)
        else:
            found.append([edit])
    return found


def _near(one: Edit, two: Edit, source: SourceFile) -> bool:
    cell, row, _ = position(source, one.end)
    other_cell, other_row, _ = position(source, two.start)
    return cell == other_cell and other_row - row <= _APART


def _rows(edits: list[Edit], source: SourceFile) -> tuple[int, int]:
    return source.position(edits[0].start)[0], source.position(edits[-1].end)[0]


def _after(edits: list[Edit], source: SourceFile, first: int, last: int) -> list[str]:
    start = source.starts[first - 1]
    end = source.starts[last - 1] + len(source.line(last))
    pieces, at = [], start
    for edit in edits:
        pieces += [source.text[at : edit.start], edit.text]
        at = edit.end
    text = "".join([*pieces, source.text[at:end]])
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _around(source: SourceFile, cell: int | None, rows: range, number: int) -> Iterator[Line]:
    for row in rows:
        inside = 1 <= row <= len(source.starts)
        if inside and position(source, source.starts[row - 1])[0] == cell:
            last = row == len(source.starts)
            if not (last and not source.line(row)):
                yield Line(number, " ", source.line(row))
        number += 1


def _changed(before: list[str], after: list[str], number: int) -> Iterator[Line]:
    for sign, line in _compared(before, after):
        yield Line(None if sign == "-" else number, sign, line)
        number += sign != "-"


def _compared(before: list[str], after: list[str]) -> Iterator[tuple[str, str]]:
    """Each line with its sign. What stays at the start comes first, so that a blank line is new
    behind a new block and not in front of it."""
    kept = 0
    while kept < min(len(before), len(after)) and before[kept] == after[kept]:
        yield " ", before[kept]
        kept += 1
    before, after = before[kept:], after[kept:]
    if len(before) + len(after) > _LONG:
        yield from (("-", line) for line in before)
        yield from (("+", line) for line in after)
        return
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for kind, low, high, new_low, new_high in matcher.get_opcodes():
        if kind == "equal":
            yield from ((" ", line) for line in before[low:high])
            continue
        yield from (("-", line) for line in before[low:high])
        yield from (("+", line) for line in after[new_low:new_high])
