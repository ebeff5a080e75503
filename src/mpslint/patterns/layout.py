"""Calls and selections that a fix makes too long for their line, broken as black would do it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.model import Edit
from mpslint.patterns.conventions import conventions
from mpslint.patterns.text import holds_comment, indent_unit, line_limit, quote, replace_span

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mpslint.semantics.context import Context
    from mpslint.sources.source import SourceFile

_BY_HAND = 110
"""So long may a line get by hand, where no tool of the project says how long."""
_COMPREHENSIONS = (ast.DictComp, ast.ListComp, ast.SetComp)


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


def unrolled(context: Context, made: ast.expr, edit: Edit) -> Edit:
    """An edit of what a comprehension makes, with the comprehension on several lines where it would
    not fit its one: what it makes, and its loops."""
    source = context.source
    start, end = source.span(made)
    row, _ = source.position(start)
    text = source.text[start:end]
    length = len(source.line(row).rstrip("\r\n")) - len(source.text[edit.start : edit.end])
    fits = length + len(edit.text) <= line_limit(source)
    if fits or "\n" in text or text[0] not in "[{" or not isinstance(made, _COMPREHENSIONS):
        return edit
    loops = source.span(made.generators[0].target)[0]
    head = source.text[start + 1 : loops].rstrip()
    if not head.endswith("for") or made.generators[0].is_async or edit.end > start + 1 + len(head):
        return edit
    at = edit.start - start - 1
    new = head[:at] + edit.text + head[at + edit.end - edit.start :]
    newline, indent = source.newline, source.indentation(row)
    inner = newline + indent + indent_unit(source)
    body = new.removesuffix("for").strip()
    rest = "for " + source.text[loops : end - 1].strip()
    wide = f"{text[0]}{inner}{body}{inner}{rest}{newline}{indent}{text[-1]}"
    return replace_span(source, start, end, wide)


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


def arms_laid_out(context: Context, node: ast.expr, parts: list[str]) -> str:
    """The arms on one line where they fit, else one a line."""
    source = context.source
    line = " ".join(parts)
    start, end = source.span(node)
    row, column = source.position(start)
    end_row, _ = source.position(end)
    tail = len(source.line(end_row)) - (source.position(end)[1] - 1)
    limit = line_limit(source)
    if column - 1 + len(line) + tail <= limit:
        return line
    if "\n" in source.text[start:end] and not is_ragged(context, node):
        return broken_arms(source, parts, " " * (len(source.line(row)[: column - 1].expandtabs())))
    newline, unit, indent = source.newline, indent_unit(source), source.indentation(row)
    inner = indent + unit
    if _is_alone_in_parentheses(context, start, end):
        return broken_arms(source, parts, indent)
    parent = context.index.parents[node]
    alone = isinstance(parent, ast.Call) and parent.args == [node] and not parent.keywords
    bracketed = alone or _in_parentheses(context, start, end)
    if bracketed and not source.line(row)[: column - 1].rstrip().endswith("("):
        bracketed = False
    broken = line if len(inner) + len(line) <= limit else broken_arms(source, parts, inner)
    body = f"{newline}{inner}{broken}{newline}{indent}"
    return body if bracketed else f"({body})"


def on_one_line(text: str) -> str:
    """An expression without its line breaks, where none is in a string."""
    lines = [line.strip().removesuffix("\\").strip() for line in text.splitlines()]
    joined = " ".join(lines).replace("( ", "(").replace(" )", ")")
    is_plain = "\\" not in joined and not any(mark in text for mark in ('"""', "'''"))
    return joined if is_plain else text


def is_ragged(context: Context, node: ast.expr) -> bool:
    """Whether an expression goes on, in the lines below its first, to the left of where it began:
    what is written below them has no margin to keep to."""
    source = context.source
    start, end = source.span(node)
    margin = source.position(start)[1] - 1
    below = source.text[start:end].splitlines()[1:]
    return any(len(line) - len(line.lstrip()) < margin for line in below)


def arms(expression: str) -> list[str]:
    """The arms of a conditional expression that a fix has written, each with its word."""
    parts: list[str] = []
    for word in expression.split(" "):
        if word in ("if", "else") or not parts:
            parts.append(word)
        else:
            parts[-1] += f" {word}"
    return parts


def broken_arms(source: SourceFile, parts: list[str], inner: str) -> str:
    """`a`, `if x`, `else b`, `if y`, `else c` over several lines, all but the first indented by
    `inner`. A formatter such as black puts each on a line of its own, and makes all quotes double
    ones; people who write by hand keep a value and its condition together, also where that makes a
    line a little longer than their others: one project gets one layout."""
    together = [parts[0]]
    for part in parts[1:]:
        if part.startswith("if "):
            together[-1] += f" {part}"
        else:
            together.append(part)
    known = conventions(source.path)
    limit = line_limit(source) if known.width is not None else max(line_limit(source), _BY_HAND)
    fits = all(len(inner.expandtabs()) + len(line) <= limit for line in together)
    by_hand = fits and quote(source) == "'" and not known.formatted
    return f"{source.newline}{inner}".join(together if by_hand else parts)


def _in_parentheses(context: Context, start: int, end: int) -> bool:
    text = context.source.text
    return text[:start].rstrip(" \t").endswith("(") and text[end:].lstrip(" \t").startswith(")")


def _is_alone_in_parentheses(context: Context, start: int, end: int) -> bool:
    """Whether an expression has lines to itself, between parentheses on the lines around it."""
    text = context.source.text
    before, after = text[:start], text[end:]
    return (
        before.rstrip(" \t").endswith("\n")
        and before.rstrip().endswith("(")
        and after.lstrip(" \t").startswith(("\n", "\r\n"))
        and after.lstrip().startswith(")")
    )


def wrapped_chain(context: Context, text: str, indent: str, before: int) -> str:
    """`text`, a conditional expression, in parentheses over several lines where it is too long.

    `before` is the number of columns in front of it.
    """
    if before + len(text) <= line_limit(context.source):
        return text
    newline, unit = context.source.newline, indent_unit(context.source)
    inner = indent + unit
    lines = broken_arms(context.source, arms(text), inner)
    return f"({newline}{inner}{lines}{newline}{indent})"
