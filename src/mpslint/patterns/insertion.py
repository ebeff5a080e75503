"""Whole statements before and after others, on lines of their own."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.model import Edit
from mpslint.patterns.text import alone_on_lines, insert

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.sources.source import SourceFile


def insert_before(
    context: Context, statement: ast.stmt, lines: list[str], *, above_comments: bool = False
) -> Edit | None:
    """Put `lines` (without indentation) in front of `statement`, or of the comment that stands
    right above it; None where it shares its line."""
    source = context.source
    first = _first_row(statement)
    if not alone_on_lines(source, statement):
        return None
    indent, newline = source.indentation(first), source.newline
    while above_comments and first > 1:
        above = source.line(first - 1)
        if not above.lstrip().startswith("#") or source.indentation(first - 1) != indent:
            break
        first -= 1
    text = "".join(f"{indent}{line}{newline}" for line in lines)
    return insert(source.starts[first - 1], text)


def insert_after(context: Context, statement: ast.stmt, lines: list[str]) -> Edit | None:
    """Put `lines` behind `statement`, at its indentation; None where something else follows on
    its last line."""
    source = context.source
    newline, indent = source.newline, source.indentation(_first_row(statement))
    end = source.span(statement)[1]
    row = statement.end_lineno or statement.lineno
    stop = source.starts[row] if row < len(source.starts) else len(source.text)
    rest = source.text[end:stop].strip()
    if (rest and not rest.startswith("#")) or source.text[
        source.starts[statement.lineno - 1] : source.span(statement)[0]
    ].strip():
        return None
    row = _behind_comments(source, row, len(indent.expandtabs()))
    stop = source.starts[row] if row < len(source.starts) else len(source.text)
    text = "".join(f"{indent}{line}{newline}" for line in lines)
    if not source.text[:stop].endswith(("\n", "\r")):
        text = newline + text.removesuffix(newline)
    return insert(stop, text)


def _behind_comments(source: SourceFile, row: int, indent: int) -> int:
    """The last row of the comments that follow `row` and still belong to the block above."""
    last = row
    for next_row in range(row + 1, len(source.starts) + 1):
        line = source.line(next_row).rstrip("\r\n").expandtabs()
        bare = line.lstrip()
        if bare.startswith("#") and len(line) - len(bare) > indent:
            last = next_row
        elif bare:
            break
    return last


def _first_row(statement: ast.stmt) -> int:
    decorators = getattr(statement, "decorator_list", [])
    return decorators[0].lineno if decorators else statement.lineno
