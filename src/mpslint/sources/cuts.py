"""Where a module can be cut into parts that read alone as they do in it."""

from __future__ import annotations

import ast
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_BLANKS = " \t"


def first_row(statement: ast.stmt) -> int:
    """The row on which a statement begins, as far as its tree can say."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return decorators[0].lineno if decorators else statement.lineno


def begins_row(
    body: Sequence[ast.stmt], at: int, line: Callable[[int], str], *, nested: bool = False
) -> bool:
    """Whether a statement is the first one of its row: of a module at the margin, `nested` behind
    blanks."""
    statement, first = body[at], first_row(body[at])
    if at and first <= (body[at - 1].end_lineno or 0):
        return False
    text = line(first)
    if getattr(statement, "decorator_list", ()):
        # The tree has no place for the sign itself.
        return (text.lstrip(_BLANKS) if nested else text).startswith("@")
    if nested:
        return not text[: statement.col_offset].strip(_BLANKS)
    return statement.col_offset == 0


def goes_on(line: str) -> bool:
    """Whether a backslash joins the next line to this one (or may: it ends a comment)."""
    return line.rstrip("\r\n").endswith("\\")


def parts_with(
    rows: Sequence[int], body: Sequence[ast.stmt], line: Callable[[int], str], last: int
) -> list[tuple[int, int]]:
    """The parts of a module of `last` rows that hold some `rows` (ascending): their first and last
    row. Each is a statement of the module or of a class, with what stands behind it up to the next
    one; or a few of them."""
    found: list[tuple[int, int]] = []
    begin, at = 1, 0
    for start in (*_starts(rows, body, line), last + 1):
        if at < len(rows) and rows[at] < start:
            found.append((begin, start - 1))
            while at < len(rows) and rows[at] < start:
                at += 1
        begin = start
    return found


def _starts(
    rows: Sequence[int],
    body: Sequence[ast.stmt],
    line: Callable[[int], str],
    *,
    nested: bool = False,
) -> Iterator[int]:
    """The rows at which a module can be cut, in order; inside of classes that hold some `rows`."""
    # There is nothing above the first statement of a module that could be cut off.
    cuts = [
        (at > 0 or nested)
        and begins_row(body, at, line, nested=nested)
        and not goes_on(line(first_row(statement) - 1))
        for at, statement in enumerate(body)
    ]
    for at, (statement, cut) in enumerate(zip(body, cuts, strict=True)):
        first, last = first_row(statement), statement.end_lineno or 0
        if cut:
            yield first
        # What stands behind a class has to be cut off, or it would be less deep than its beginning.
        if isinstance(statement, ast.ClassDef) and (at + 1 == len(body) or cuts[at + 1]):
            if bisect_left(rows, first) < bisect_right(rows, last):
                yield from _starts(rows, statement.body, line, nested=True)
