"""Where a function has put nothing on a device yet."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.index import COMPREHENSIONS, LOOPS, FunctionNode

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_MOVES = ("to", "cuda", "to_device", "prepare")
"""Methods and functions that bring something to a device; `Accelerator.prepare` is one."""


def is_before_first_use(context: Context, node: ast.AST) -> bool:
    """Whether the function around has moved nothing before `node`, and is a constructor, or moves
    afterwards what it makes itself. In a loop the turn before may have."""
    function = context.index.function(node)
    if function is None or context.index.enclosing(node, *LOOPS) is not None:
        return False
    moves = [
        call
        for name in _MOVES
        for call in context.index.calls.get(name, ())
        if context.index.function(call) is function
    ]
    here = context.index.statement(node).lineno
    if any(call.lineno <= here for call in moves) or _names_device(context, function, here):
        return False
    if function.name == "__init__":
        return True
    return any(_makes_itself(context, function, call) for call in moves)


def _names_device(context: Context, function: FunctionNode, row: int) -> bool:
    """Whether something is given a device before a row: `make(device=device)`."""
    return any(
        item.arg in ("device", "device_map")
        and item.value.lineno <= row
        and context.index.function(item) is function
        for item in context.index.of(ast.keyword)
    )


def _makes_itself(context: Context, function: FunctionNode, move: ast.Call) -> bool:
    """Whether what is moved was bound in the function: `model = make()`, `model.eval().to(...)`.
    Batches, which loops move, say nothing of the model."""
    if context.index.enclosing(move, *LOOPS, *COMPREHENSIONS) is not None:
        return False
    made: ast.AST = move.func
    while isinstance(made, ast.Attribute | ast.Call):
        made = made.func if isinstance(made, ast.Call) else made.value
    return isinstance(made, ast.Name) and any(
        isinstance(use.ctx, ast.Store) and context.index.function(use) is function
        for use in context.index.names.get(made.id, ())
    )
