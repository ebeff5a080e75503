"""Casts that come too late once a choice is opened for MPS: `x.to(device).float()` of what may be
float64 raises there before it is cast, and becomes `x.float().to(device)` with the choice.

The numbers are the same on every machine, whichever of the two comes first.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.model import Edit
from mpslint.patterns.arguments import add_argument
from mpslint.patterns.early_cast import cast_behind, cast_first, late_in
from mpslint.patterns.layout import folded
from mpslint.patterns.local_names import torch_name
from mpslint.patterns.precision import device_test
from mpslint.patterns.statements import delete_statement
from mpslint.patterns.text import holds_comment, insert, replace, replace_span
from mpslint.records import NamedTuple
from mpslint.semantics.destinations.destinations import device_argument
from mpslint.semantics.syntax.expressions import is_path, keyword, last_name
from mpslint.semantics.terms.value import Kind
from mpslint.semantics.wide.late_casts import called_on, cast_to, is_asked, is_made, pairs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mpslint.semantics.context import Context
    from mpslint.semantics.wide.late_casts import LateCast

_CPU = frozenset({"cpu"})
_KEY = "late casts"


class _First(NamedTuple):
    """A cast that is put first."""

    row: int
    """Of the move."""
    edits: tuple[Edit, ...]
    casts: tuple[ast.Call, ...] = ()
    """What is no cast any more, of a name."""


def casts_put_first(context: Context) -> tuple[Edit, ...]:
    """The edits for all of a file. What is float64 for sure is told by a rule of its own."""
    return _found(context)[1]


def rows_cast_first(context: Context) -> frozenset[int]:
    """The rows of the moves in front of which they put a cast."""
    return _found(context)[0]


def _found(context: Context) -> tuple[frozenset[int], tuple[Edit, ...]]:
    if _KEY not in context.memo:
        context.memo[_KEY] = _put_first(context)
    found = context.memo[_KEY]
    assert isinstance(found, tuple)
    return found


def _put_first(context: Context) -> tuple[frozenset[int], tuple[Edit, ...]]:
    every = [one for late in late_in(context) if (one := _first(context, late)) is not None]
    every += _first_of_wide(context)
    edits = [edit for one in every for edit in one.edits]
    edits += _taken_away(context, {cast for one in every for cast in one.casts})
    rows = frozenset(one.row for one in every)
    return rows | _rewritten(context), tuple(dict.fromkeys(edits))


def _first_of_wide(context: Context) -> Iterator[_First]:
    """What is likely to be wide by what the file itself hands out, also complex."""
    known = {late.move for late in late_in(context)}
    for move in context.index.calls.get("to", ()):
        if move in known or len(move.args) != 1 or move.keywords:
            continue
        device = device_argument(context, move)
        if device is None or context.values.of(device).devices == _CPU:
            continue
        if not isinstance(move.func, ast.Attribute) or context.dtypes.tensor(move.func.value):
            continue
        cast = cast_behind(context, move)
        if cast is not None:
            start, end = context.name_token(move.func)[0], context.source.span(move)[1]
            first = cast_first(context, move, cast, context.source.text[start:end])
            yield _First(move.lineno, (first,))


def _rewritten(context: Context) -> frozenset[int]:
    """The rows in which whoever rewrites `x.cuda().float()` casts first."""
    return frozenset(
        late.move.lineno
        for late in late_in(context)
        if last_name(late.move.func) == "cuda" and cast_behind(context, late.move) is not None
    )


def device_of(context: Context, late: LateCast) -> ast.expr | None:
    """The device that is moved to."""
    move = late.move
    return keyword(move, "device") if is_made(move) else device_argument(context, move)


def _first(context: Context, late: LateCast) -> _First | None:
    move, device = late.move, device_of(context, late)
    if device is None or context.values.of(device).devices == _CPU:
        return None
    base = move if is_made(move) or not isinstance(move.func, ast.Attribute) else move.func.value
    if context.dtypes.tensor(base) not in ((None, "float64") if is_made(move) else (None,)):
        return None
    if late.is_apart:
        return _first_of_name(context, late, device)
    edits = _in_call(context, late) if is_made(move) else _swapped(context, late, device)
    return _First(move.lineno, edits) if edits else None


def _in_call(context: Context, late: LateCast) -> tuple[Edit, ...]:
    """`torch.tensor(a, device=device, dtype=torch.float32)`"""
    added = _told(context, late)
    assert isinstance(late.cast.func, ast.Attribute)
    start, end = context.source.span(late.cast.func.value)[1], context.source.span(late.cast)[1]
    if added is None or holds_comment(context.source, start, end):
        return ()
    return (*added, replace_span(context.source, start, end, ""))


def _told(context: Context, late: LateCast) -> tuple[Edit, ...] | None:
    torch, given = torch_name(context, late.move), [*late.cast.args, *late.cast.keywords]
    if torch is None or len(late.move.args) != 1:
        return None
    # Fractions of a list are no whole numbers to what makes a tensor, and what asks for gradients
    # as it is made is a leaf, which its cast is not.
    if not late.is_float or keyword(late.move, "requires_grad") is not None:
        return None
    asked = given[0].value if given and isinstance(given[0], ast.keyword) else None
    asked = late.cast.args[0] if late.cast.args else asked
    dtype = context.source.segment(asked) if asked is not None else f"{torch}.{late.dtype}"
    added = add_argument(context.source, late.move, f"dtype={dtype}")
    return folded(context, late.move, [added]) if added is not None else None


def _swapped(context: Context, late: LateCast, device: ast.expr) -> tuple[Edit, ...]:
    """`x.float().to(device)`"""
    source, waits = context.source, _waits(context, late.move, device)
    assert isinstance(late.move.func, ast.Attribute)
    assert isinstance(late.cast.func, ast.Attribute)
    if waits is None or context.values.of(late.move.func.value).kind is Kind.MODULE:
        return ()
    start, end = context.name_token(late.move.func)[0], source.span(late.move)[1]
    at, last = source.span(late.cast.func.value)[1], source.span(late.cast)[1]
    if "#" in source.text[start:last]:
        return ()
    behind = context.name_token(late.cast.func)[0]
    if "\n" not in source.text[end:last]:
        first = insert(start, f"{source.text[behind:last]}.")
        return first, *waits, replace_span(source, at, last, "")
    if waits or at != end or not is_path(device):
        return ()
    return (
        replace_span(source, start, end, source.text[behind:last]),
        replace_span(source, behind, last, source.text[start:end]),
    )


def _waits(context: Context, move: ast.Call, device: ast.expr) -> tuple[Edit, ...] | None:
    """What lets a move wait where it goes to MPS, which may read too late what nothing holds; None:
    that cannot be told."""
    given = keyword(move, "non_blocking")
    if given is None or ast.unparse(given) != "True":
        return ()
    test = device_test(context, device, "cuda")
    return (replace(context.source, given, test),) if test is not None else None


# A cast of a name, later.


def _first_of_name(context: Context, late: LateCast, device: ast.expr) -> _First | None:
    """Where all that is done with what was moved is to cast it."""
    casts = _all_casts(context, late)
    if not casts:
        return None
    if is_made(late.move):
        added = _told(context, late)
        return _First(late.move.lineno, added, casts) if added is not None else None
    waits, source = _waits(context, late.move, device), context.source
    assert isinstance(late.cast.func, ast.Attribute)
    assert isinstance(late.move.func, ast.Attribute)
    text = source.text[context.name_token(late.cast.func)[0] : source.span(late.cast)[1]]
    if waits is None or "\n" in text or "#" in text:
        return None
    first = insert(context.name_token(late.move.func)[0], f"{text}.")
    return _First(late.move.lineno, (first, *waits), casts)


def _all_casts(context: Context, late: LateCast) -> tuple[ast.Call, ...]:
    """All casts of the name; empty: something else is done with it."""
    name = late.cast.func.value if isinstance(late.cast.func, ast.Attribute) else None
    if not isinstance(name, ast.Name):
        return ()
    given = context.flow.reaching(name)
    if len(given) != 1 or given[0].node is not context.index.statement(late.move):
        return ()
    found: list[ast.Call] = []
    parents = context.index.parents
    for use in context.index.names[name.id]:
        if not isinstance(use.ctx, ast.Load) or given[0] not in context.flow.reaching(use):
            continue
        if is_asked(use, parents):
            continue
        cast = called_on(use, parents)
        dtype = cast_to(cast, late.modules) if cast is not None else None
        if cast is None or dtype != late.dtype or len(context.flow.reaching(use)) != 1:
            return ()
        found.append(cast)
    return tuple(found)


def _taken_away(context: Context, casts: set[ast.Call]) -> Iterator[Edit]:
    """What takes casts of names away, with statements that would do nothing without them. Where
    that cannot be, they do nothing."""
    for cast in casts:
        statement = context.index.statement(cast)
        given = list(pairs(statement)) if isinstance(statement, ast.Assign) else []
        is_idle = bool(given) and all(
            value in casts and _is_of(value, name) for name, value in given
        )
        edit = delete_statement(context, statement) if is_idle else _without(context, cast)
        if edit is not None:
            yield edit


def _is_of(cast: ast.expr, name: str) -> bool:
    function = cast.func if isinstance(cast, ast.Call) else None
    base = function.value if isinstance(function, ast.Attribute) else None
    return isinstance(base, ast.Name) and base.id == name


def _without(context: Context, cast: ast.Call) -> Edit | None:
    assert isinstance(cast.func, ast.Attribute)
    start, end = context.source.span(cast.func.value)[1], context.source.span(cast)[1]
    if holds_comment(context.source, start, end):
        return None
    return replace_span(context.source, start, end, "")
