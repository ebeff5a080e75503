"""Whether a tensor that is made narrower on MPS meets others that keep float64."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.destinations.destinations import device_argument
from mpslint.semantics.syntax.expressions import keyword
from mpslint.semantics.wide.wide_companions import companion
from mpslint.semantics.wide.wide_dtypes import requests

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.wide.wide_dtypes import Request


def meets_wide(context: Context, request: Request, wide: str) -> bool:
    """Whether the dtype is a constant of the file that more is made with, or what is made meets
    something of unknown dtype that is moved to the same device, another request for `wide` in
    the function cannot be fixed, or what is used with it is cast to `wide` and never moved."""
    every = _every(context, wide)
    return (
        _is_shared(context, request)
        or _meets_moved(context, request)
        or any(_is_lost(context, other, request) for other in every)
        or companion(context, request.call, (one.call for one in every), wide) is not None
    )


def _every(context: Context, wide: str) -> list[Request]:
    key = f"requests for {wide}"
    if key not in context.memo:
        context.memo[key] = list(requests(context, wide))
    found = context.memo[key]
    assert isinstance(found, list)
    return found


def _is_shared(context: Context, request: Request) -> bool:
    """`dtype=COUNTER_DTYPE`, which other tensors have as well."""
    dtype = request.dtype
    if not isinstance(dtype, ast.Name):
        return False
    bindings = context.names.bindings(dtype.id, dtype)
    reads = [use for use in context.index.names.get(dtype.id, ()) if isinstance(use.ctx, ast.Load)]
    return all(binding.kind == "assign" for binding in bindings) and len(reads) > 1


def _meets_moved(context: Context, request: Request) -> bool:
    """`total.add_(counter.to(device))`, `total += x.to(device)`, with `total` from the request."""
    if request.device is None:
        return False
    statement = context.index.parents[request.call]
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    made, device = ast.unparse(statement.targets[0]), ast.unparse(request.device)
    function = context.index.function(request.call)
    return any(
        made in _met(context, move)
        for move in context.index.calls.get("to", ())
        if context.index.function(move) is function and _moves_as_it_is(context, move, device)
    )


def _moves_as_it_is(context: Context, call: ast.Call, device: str) -> bool:
    """Whether `call` moves something of unknown dtype to `device`, and keeps its dtype."""
    given = device_argument(context, call)
    if given is None or ast.unparse(given) != device or len(call.args) > 1:
        return False
    if keyword(call, "dtype") is not None or not isinstance(call.func, ast.Attribute):
        return False
    return context.dtypes.tensor(call.func.value) in (None, "float64", "complex128")


def _met(context: Context, moved: ast.expr) -> Iterator[str]:
    """What the moved value is combined with in its statement."""
    child: ast.AST = moved
    for parent in context.index.ancestors(moved):
        if isinstance(parent, ast.AugAssign):
            yield ast.unparse(parent.target)
        elif isinstance(parent, ast.BinOp):
            yield ast.unparse(parent.right if parent.left is child else parent.left)
        elif isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute):
            if child is not parent.func:
                yield ast.unparse(parent.func.value)
        if isinstance(parent, ast.stmt):
            return
        child = parent


def _is_lost(context: Context, other: Request, request: Request) -> bool:
    """Whether another move to the same device, in the same function, cannot be made narrower."""
    if other.call is request.call or other.how != "moved" or other.device is None:
        return False
    if context.index.function(other.call) is not context.index.function(request.call):
        return False
    return not isinstance(other.device, ast.Name | ast.Attribute)
