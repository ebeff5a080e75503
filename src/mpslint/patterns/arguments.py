"""Adding, replacing and dropping an argument of a call, comments and layout left as they are."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from mpslint.model import Edit
from mpslint.patterns.text import insert, replace_span

if TYPE_CHECKING:
    from mpslint.sources.source import SourceFile

# Fact: Python's grammar, the end of a call.
_CLOSING = re.compile(r"\s*,?\s*\)\Z")
# Fact: Python's grammar, what stands between arguments.
_COMMA = re.compile(r"\s*,\s*\Z")


def add_argument(source: SourceFile, call: ast.Call, text: str) -> Edit | None:
    """Add `text` (`name=value`) behind the last argument; None where the end is not plain.

    A last argument in parentheses or with a comment behind it is left alone.
    """
    end = source.span(call)[1]
    arguments: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
    if not arguments:
        return insert(end - 1, text) if source.text[end - 1] == ")" else None
    start, last = max(source.span(argument) for argument in arguments)
    if not _CLOSING.match(source.text[last:end]):
        return None
    row = source.position(start)[0]
    alone = not source.text[source.starts[row - 1] : start].strip()
    if alone and "\n" in source.text[last:end]:
        # One argument a line.
        return insert(last, f",{source.newline}{source.indentation(row)}{text}")
    return insert(last, f", {text}")


def drop_keyword(source: SourceFile, call: ast.Call, name: str) -> Edit | None:
    """Remove `name=...` with the comma before it; None where it stands first or layout is odd."""
    found = next((item for item in call.keywords if item.arg == name), None)
    if found is None:
        return None
    start, end = source.span(found)
    others: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
    before = [source.span(item)[1] for item in others if source.span(item)[1] < start]
    if not before or not _COMMA.match(source.text[max(before) : start]):
        return None
    return replace_span(source, max(before), end, "")
