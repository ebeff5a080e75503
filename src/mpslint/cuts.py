"""Where a module can be cut into parts that read alone as they do in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Sequence


def first_row(statement: ast.stmt) -> int:
    """The row on which a statement begins, as far as its tree can say."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return decorators[0].lineno if decorators else statement.lineno


def begins_row(body: Sequence[ast.stmt], at: int, line: Callable[[int], str]) -> bool:
    """Whether a statement of a module is the first one of its row, at the margin."""
    statement, first = body[at], first_row(body[at])
    if at and first <= (body[at - 1].end_lineno or 0):
        return False
    if getattr(statement, "decorator_list", ()):
        return line(first).startswith("@")  # The tree has no place for the sign itself.
    return statement.col_offset == 0


def goes_on(line: str) -> bool:
    """Whether a backslash joins the next line to this one (or may: it ends a comment)."""
    return line.rstrip("\r\n").endswith("\\")


def parts_with(
    rows: Sequence[int], body: Sequence[ast.stmt], line: Callable[[int], str], last: int
) -> list[tuple[int, int]]:
    """The parts of a module of `last` rows that hold some `rows` (ascending): their first and last
    row. Each is a statement, with what stands behind it up to the next one; or a few of them."""
    found: list[tuple[int, int]] = []
    starts = [
        first_row(statement)
        for at, statement in enumerate(body)
        if at and begins_row(body, at, line) and not goes_on(line(first_row(statement) - 1))
    ]
    starts.append(last + 1)
    begin, at = 1, 0
    for start in starts:
        if at < len(rows) and rows[at] < start:
            found.append((begin, start - 1))
            while at < len(rows) and rows[at] < start:
                at += 1
        begin = start
    return found
