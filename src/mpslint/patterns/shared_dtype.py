"""One local dtype for calls of a block that ask for the same wide one on the same device: the
choice between two dtypes, written out in each of them, would hide what they do."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.model import Edit
from mpslint.patterns.insertion import insert_before
from mpslint.semantics.syntax.expressions import names_in
from mpslint.semantics.wide.wide_dtypes import requests

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.wide.wide_dtypes import Request

_LEAST = 3
"""Two stand side by side, and are read at once."""
_NAME = "dtype"
_KNOWN = "calls that ask for the same wide dtype"
_Key = tuple[int, str, str, str]
_Groups = dict[_Key, list["Request"]]


def shared_dtype(
    context: Context, request: Request, device: ast.expr, wide: str, chosen: str
) -> tuple[Edit, str] | None:
    """What gives a local name the dtype that is `chosen`, and that name, where it stands in front
    of all calls that ask for the same."""
    if request.dtype is None or context.index.function(request.call) is None:
        return None
    group = _groups(context, wide).get(_key(context, request.call, device, request.dtype), [])
    if len(group) < _LEAST or all(one.call is not request.call for one in group):
        return None
    first = min((context.index.statement(one.call) for one in group), key=lambda one: one.lineno)
    last = max(context.index.statement(one.call).lineno for one in group)
    if context.names.bindings(_NAME, first) or _is_set(context, device, first, last):
        return None
    placed = insert_before(context, first, [f"{_NAME} = {chosen}"], above_comments=True)
    return (placed, _NAME) if placed is not None else None


def _groups(context: Context, wide: str) -> _Groups:
    known = context.memo.get(f"{_KNOWN}: {wide}")
    if known is None:
        known = _Groups()
        for one in requests(context, wide):
            if one.dtype is not None and one.device is not None:
                known.setdefault(_key(context, one.call, one.device, one.dtype), []).append(one)
        context.memo[f"{_KNOWN}: {wide}"] = known
    assert isinstance(known, dict)
    return known


def _key(context: Context, call: ast.Call, device: ast.expr, dtype: ast.expr) -> _Key:
    """The block in which a call is a part of a simple statement, and what it asks for."""
    statement = context.index.statement(call)
    parent = context.index.parents[statement]
    blocks = ((name, value) for name, value in ast.iter_fields(parent) if isinstance(value, list))
    block = next((name for name, value in blocks if statement in value), "")
    asked = context.source.segment(device), context.source.segment(dtype)
    return id(parent), block, *asked


def _is_set(context: Context, device: ast.expr, first: ast.stmt, last: int) -> bool:
    """Whether what the device is asked of gets another value between the calls."""
    names = names_in(device)
    function = context.index.function(first) or context.tree
    return any(
        isinstance(one, ast.Name | ast.Attribute)
        and isinstance(one.ctx, ast.Store)
        and first.lineno <= one.lineno <= last
        and (
            one.id in names
            if isinstance(one, ast.Name)
            else ast.unparse(one) in ast.unparse(device)
        )
        for one in ast.walk(function)
    )
