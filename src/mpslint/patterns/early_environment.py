"""Moving the assignment of an environment variable above the import that reads it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.model import Applicability, Fix
from mpslint.patterns.text import alone_on_lines, insert, replace_span

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.packages.environment import Write


def can_move_up(context: Context, write: Write, loaded: ast.stmt) -> bool:
    """Whether both are statements of the module, and the value depends on nothing."""
    statement = context.index.statement(write.node)
    top = context.tree.body
    if not any(item is statement for item in top) or not any(item is loaded for item in top):
        return False
    if write.text is None or not _only_sets(statement, write):
        return False
    if not _names_are_ready(context, write, statement, loaded):
        return False
    return alone_on_lines(context.source, statement) and alone_on_lines(context.source, loaded)


def _names_are_ready(context: Context, write: Write, statement: ast.stmt, loaded: ast.stmt) -> bool:
    """Whether `os` (or `environ`) is imported above `loaded`, or by a line that can move along."""
    movable = _import_of(context, statement, loaded)
    for node in ast.walk(statement):
        if not isinstance(node, ast.Name):
            continue
        for binding in context.names.bindings(node.id, write.node):
            above = isinstance(binding.node, ast.stmt) and binding.node.lineno < loaded.lineno
            if not above and binding.node is not movable:
                return False
    return True


def _only_sets(statement: ast.stmt, write: Write) -> bool:
    """The statement does nothing but set this one variable."""
    if isinstance(statement, ast.Assign):
        return statement is write.node and len(statement.targets) == 1
    return isinstance(statement, ast.Expr) and statement.value is write.node


def move_up(context: Context, write: Write, loaded: ast.stmt) -> Fix | None:
    """Move the statement, the comments right above it and the import of `os` it needs."""
    source = context.source
    statement = context.index.statement(write.node)
    start, end = _lines(context, statement)
    moved = source.text[start:end]
    if not moved.endswith(("\n", "\r")):
        moved += source.newline
    place = _first_line(context, loaded)
    edits = [replace_span(source, start, end, "")]
    needed = _import_of(context, statement, loaded)
    if needed is not None:
        first, last = _lines(context, needed, comments=False)
        text = source.text[first:last]
        if first >= source.span(loaded)[0]:
            edits.append(replace_span(source, first, last, ""))
            moved = text + moved
    edits.append(insert(place, moved))
    return Fix("Set it before torch is imported", tuple(edits), Applicability.SAFE)


def _first_line(context: Context, statement: ast.stmt) -> int:
    return context.source.starts[statement.lineno - 1]


def _lines(context: Context, statement: ast.stmt, comments: bool = True) -> tuple[int, int]:
    """Offsets of the whole lines of a statement, with the comment lines right above it."""
    source = context.source
    first = statement.lineno
    while comments and first > 1 and source.line(first - 1).startswith("#"):
        first -= 1
    last = statement.end_lineno or statement.lineno
    end = source.starts[last] if last < len(source.starts) else len(source.text)
    return source.starts[first - 1], end


def _import_of(context: Context, statement: ast.stmt, loaded: ast.stmt) -> ast.stmt | None:
    """The plain `import os` behind `loaded` that the statement needs."""
    for item in context.tree.body:
        between = loaded.lineno < item.lineno < statement.lineno
        if between and isinstance(item, ast.Import):
            only = item.names[0]
            if len(item.names) == 1 and (only.name, only.asname) == ("os", None):
                return item
    return None
