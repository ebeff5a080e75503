"""Calls that a fix makes too long for their line, broken as black would break them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.model import Edit
from mpslint.patterns.text import holds_comment, indent_unit, line_limit, replace_span

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mpslint.semantics.context import Context


def folded(context: Context, call: ast.Call, edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """`edits` of the call's arguments, as one edit that breaks the call over several lines where
    it would not fit its line. What does not stand inside the call is passed on."""
    source = context.source
    start, end = source.span(call)
    every = list(edits)
    inside = sorted(e for e in every if start <= e.start and e.end <= end)
    row, column = source.position(start)
    text = source.text[start:end]
    if not inside or "\n" in text or "\r" in text or holds_comment(source, start, end):
        return tuple(every)
    new = _applied(source.text, start, end, inside)
    rest = len(source.line(row).rstrip("\r\n")) - (column - 1) - len(text)
    if "\n" in new or column - 1 + len(new) + rest <= line_limit(source):
        return tuple(every)
    broken = _broken(context, new, source.indentation(row))
    if broken is None:
        return tuple(every)
    outside = [e for e in every if e not in inside]
    return (*outside, replace_span(source, start, end, broken))


def _broken(context: Context, text: str, indent: str) -> str | None:
    """A call on several lines: its arguments on one line of their own, else on one each."""
    source = context.source
    newline, inner = source.newline, indent + indent_unit(source)
    try:
        call = ast.parse(text, mode="eval").body
    except SyntaxError:
        return None
    if not isinstance(call, ast.Call) or not text.isascii() or text[-1] != ")":
        return None
    arguments: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
    places = sorted((item.col_offset, item.end_col_offset or 0) for item in arguments)
    if not places or text[call.func.end_col_offset or 0] != "(":
        return None
    head = text[: (call.func.end_col_offset or 0) + 1]
    if text[len(head) : places[0][0]].strip() or text[places[-1][1] : -1].strip(" ,"):
        return None  # an argument in parentheses
    parts = [text[first:last] for first, last in places]
    line = ", ".join(parts)
    if len(inner.expandtabs()) + len(line) > line_limit(source):
        line = f",{newline}{inner}".join(parts) + ","
    return f"{head}{newline}{inner}{line}{newline}{indent})"


def _applied(text: str, start: int, end: int, edits: list[Edit]) -> str:
    pieces, at = [], start
    for edit in edits:
        pieces += [text[at : edit.start], edit.text]
        at = edit.end
    return "".join([*pieces, text[at:end]])
