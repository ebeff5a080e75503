"""The body of an `if` one level out, where its rows say by themselves what becomes of them.

Most bodies are so: rows that all begin with the margin of their block, and lose it. What this does
not know (strings over several rows, comments at a margin of their own) is for libcst, whose import
alone takes as long as checking a file.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.patterns.text import replace_span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mpslint.model import Edit
    from mpslint.sources.source import SourceFile

_SPANNING = ('"""', "'''", "\\\n", "\\\r", "\f")
"""What lets a row begin inside a string, or in no margin."""


def moved_out(
    source: SourceFile, arm: Sequence[ast.stmt], rows: tuple[int, int], indent: str
) -> list[Edit] | None:
    """What takes the margin of a block of statements away from its rows, the first and the last
    of which are given; None where that is not all there is to do."""
    top, bottom = rows
    margin = source.indentation(arm[0].lineno)
    text = source.text[source.starts[top - 1] : _below(source, bottom)]
    if not margin.startswith(indent) or margin == indent or any(x in text for x in _SPANNING):
        return None
    if not _is_plain(source, text, arm):
        return None
    margins = _margins(source, arm)
    cuts = []
    last = arm[-1].end_lineno or bottom
    for row in range(top, bottom + 1):
        line, start = source.line(row), source.starts[row - 1]
        content = line.strip()
        if not content:
            if line or row < arm[0].lineno:
                return None
            if row > last:  # A gap before the comments that close the block.
                cuts.append(replace_span(source, start, _below(source, row), ""))
            continue
        if not line.startswith(margins.get(row, margin)):
            return None
        if content.startswith("#") and not _at_margin_of_code(source, row, margin, last):
            return None
        cuts.append(replace_span(source, start + len(indent), start + len(margin), ""))
    return cuts


def _below(source: SourceFile, row: int) -> int:
    """Where the next row begins."""
    return source.starts[row] if row < len(source.starts) else len(source.text)


def _is_plain(source: SourceFile, text: str, arm: Sequence[ast.stmt]) -> bool:
    rest = text.replace(source.newline, "")
    if "\n" in rest or "\r" in rest:
        return False
    return not any(
        isinstance(node, ast.Match | ast.JoinedStr) and node.lineno != node.end_lineno
        for statement in arm
        for node in ast.walk(statement)
    ) and not any(
        getattr(node, "decorator_list", ()) for statement in arm for node in ast.walk(statement)
    )


def _margins(source: SourceFile, arm: Sequence[ast.stmt]) -> dict[int, str]:
    """The margin of the innermost statement that each row is of."""
    found: dict[int, str] = {}
    for statement in arm:
        for node in ast.walk(statement):  # from outside in
            if isinstance(node, ast.stmt):
                margin = source.indentation(node.lineno)
                for row in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                    found[row] = margin
    return found


def _at_margin_of_code(source: SourceFile, row: int, margin: str, last: int) -> bool:
    """Whether a comment stands where the code above or below it does."""
    own = source.indentation(row)
    if row > last:
        return own == margin
    below = row + 1
    while not source.line(below).strip() or source.line(below).lstrip().startswith("#"):
        below += 1
    return own == source.indentation(below)
