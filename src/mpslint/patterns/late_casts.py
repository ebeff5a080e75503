"""Casts that come too late once a choice is opened for MPS: `x.to(device).float()` of what may be
float64 raises there before it is cast, and becomes `x.float().to(device)` with the choice."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.patterns.early_cast import cast_behind, cast_first
from mpslint.semantics.destinations.destinations import device_argument

if TYPE_CHECKING:
    from mpslint.model import Edit
    from mpslint.semantics.context import Context

_CPU = frozenset({"cpu"})


def casts_put_first(context: Context) -> tuple[Edit, ...]:
    """The edits for all of a file. What is float64 for sure is told by a rule of its own."""
    edits: list[Edit] = []
    for move in context.index.calls.get("to", ()):
        if not isinstance(move.func, ast.Attribute) or len(move.args) != 1 or move.keywords:
            continue
        device = device_argument(context, move)
        if device is None or context.values.of(device).devices == _CPU:
            continue
        if context.dtypes.tensor(move.func.value) is not None:
            continue
        cast = cast_behind(context, move)
        if cast is not None:
            start = context.name_token(move.func)[0]
            moved = context.source.text[start : context.source.span(move)[1]]
            edits.append(cast_first(context, move, cast, moved))
    return tuple(edits)
