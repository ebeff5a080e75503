"""A statement that gets a test of its backend, right beside statements that are under that test:
one block holds them all, as whoever wrote them below each other would have it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.patterns.only_shown import shows_what_raises
from mpslint.patterns.text import alone_on_lines, replace_span
from mpslint.records import NamedTuple
from mpslint.semantics.syntax.expressions import names_in
from mpslint.semantics.syntax.ways_through import JUMPS

if TYPE_CHECKING:
    from mpslint.model import Edit
    from mpslint.semantics.context import Context

_HOME = "torch.cuda."


class Arms(NamedTuple):
    """What becomes of a statement, and the tests below which it does."""

    cuda: str
    on_cuda: str
    mps: str = ""
    on_mps: str = ""
    otherwise: str = ""


def joined(context: Context, statement: ast.stmt, arms: Arms) -> Edit | None:
    """The edit that moves `statement` into the block beside it that asks the same; None: there is
    none."""
    block, source = context.index.block(statement), context.source
    at = block.index(statement)
    if not alone_on_lines(source, statement) or "#" in source.line(statement.lineno):
        return None
    for first, second in ((at - 1, at), (at, at + 1)):
        if first < 0 or second >= len(block) or not _touch(context, block[first], block[second]):
            continue
        beside = block[first] if second == at else block[second]
        parts = _parts(context, beside, arms) if isinstance(beside, ast.If) else None
        if parts is not None:
            return _moved(context, statement, parts, arms, behind=second == at)
    return None


def above_it(context: Context, statement: ast.stmt, arms: Arms) -> Edit | None:
    """The edit that adds to the block right above `statement` what it needs, where that asks the
    same; None: there is none."""
    block = context.index.block(statement)
    at = block.index(statement)
    above = block[at - 1] if at else None
    if not isinstance(above, ast.If) or not _touch(context, above, statement):
        return None
    parts = _parts(context, above, arms)
    return _moved(context, above, parts, arms, behind=True) if parts is not None else None


class _Parts(NamedTuple):
    """The arms that a block has."""

    block: ast.If
    on_cuda: list[ast.stmt]
    on_mps: list[ast.stmt]
    otherwise: list[ast.stmt]


def _parts(context: Context, block: ast.If, arms: Arms) -> _Parts | None:
    """The arms of a block that asks what `arms` ask, and nothing else, where each has its lines."""
    source = context.source
    if source.segment(block.test) != arms.cuda:
        return None
    on_mps, rest = [], block.orelse
    if len(rest) == 1 and _is_elif(context, rest[0]):
        middle = rest[0]
        assert isinstance(middle, ast.If)
        if not arms.mps or source.segment(middle.test) != arms.mps:
            return None
        on_mps, rest = middle.body, middle.orelse
        if len(rest) == 1 and _is_elif(context, rest[0]):
            return None
    elif rest and arms.on_mps:
        return None  # What is there for all other machines is there for MPS, too.
    found = _Parts(block, block.body, on_mps, rest)
    asked = names_in(block.test)
    for arm in found[1:]:
        above = block.lineno
        for item in arm:
            if item.lineno <= above or not alone_on_lines(source, item):
                return None
            above = item.end_lineno or item.lineno
            for inner in ast.walk(item):
                stored = isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)
                if isinstance(inner, JUMPS) or (stored and inner.id in asked):  # type: ignore[attr-defined]
                    return None
    return found


def _is_elif(context: Context, item: ast.stmt) -> bool:
    return isinstance(item, ast.If) and context.source.text.startswith(
        "elif", context.source.span(item)[0]
    )


def _moved(
    context: Context, statement: ast.stmt, parts: _Parts, arms: Arms, *, behind: bool
) -> Edit:
    """The block with the statement in it, as one edit."""
    source = context.source
    start, end = source.span(parts.block)
    outer = source.indentation(parts.block.lineno)
    inner = source.indentation(parts.on_cuda[0].lineno)
    added: list[tuple[int, str]] = []
    new = ""
    for arm, head, line in (
        (parts.on_cuda, "", arms.on_cuda),
        (parts.on_mps, f"elif {arms.mps}:", arms.on_mps),
        (parts.otherwise, "else:", arms.otherwise),
    ):
        if not line:
            continue
        if not arm:
            new += f"{source.newline}{outer}{head}{source.newline}{inner}{line}"
        elif behind:
            added.append((source.span(arm[-1])[1], f"{source.newline}{inner}{line}"))
        else:
            added.append((source.span(arm[0])[0], f"{line}{source.newline}{inner}"))
    text, at = "", start
    for offset, line in added:
        text += source.text[at:offset] + line
        at = offset
    text += source.text[at:end] + new
    own = source.span(statement)
    return replace_span(source, min(start, own[0]), max(end, own[1]), text)


def after_its_like(context: Context, statement: ast.stmt, edit: Edit) -> Edit:
    """The edit, reaching back to the first of the calls right in front of the statement that will
    get a test as well: so that it comes when they have theirs, and joins them."""
    block, source = context.index.block(statement), context.source
    first = None
    for item in reversed(block[: block.index(statement)]):
        behind = first if first is not None else statement
        if not _gets_a_test(context, item) or not _touch(context, item, behind):
            break
        first = item
    if first is None:
        return edit
    back = source.span(first)[1] - 1
    if "#" in source.text[back : edit.start]:
        return edit
    return replace_span(source, back, edit.end, source.text[back : edit.start] + edit.text)


def _gets_a_test(context: Context, item: ast.stmt) -> bool:
    """A call of CUDA's own that a Mac comes to, or that says its answer, alone on its line."""
    if not isinstance(item, ast.Expr) or not isinstance(item.value, ast.Call):
        return False
    name = context.resolve(item.value.func) or ""
    return (
        item.lineno == item.end_lineno
        and alone_on_lines(context.source, item)
        and (name.startswith(_HOME) or shows_what_raises(context, item))
    )


def _touch(context: Context, first: ast.stmt, second: ast.stmt) -> bool:
    """Whether nothing, no blank row and no comment, stands between two statements."""
    source = context.source
    between = source.text[source.span(first)[1] : source.span(second)[0]]
    return not between.strip() and between.count("\n") == 1
