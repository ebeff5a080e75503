"""Where a function has put nothing on a device yet, or has computed nothing there."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.loops.loops import LoopKind
from mpslint.semantics.syntax.expressions import root_of
from mpslint.semantics.syntax.index import COMPREHENSIONS, FUNCTIONS, LOOPS, FunctionNode
from mpslint.semantics.timing.device_work import Effect

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_MOVES = ("to", "cuda", "to_device", "prepare")
"""Methods and functions that bring something to a device; `Accelerator.prepare` is one."""
_FREEING = ("gc.collect", "torch.load")
"""What says that something was let go: a checkpoint that was read is, once it was copied."""


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


def is_before_training(context: Context, node: ast.AST) -> bool:
    """Whether a function that its program calls once goes on from here to its loop of training, and
    has let nothing go before, nor computed anything: what it has put on a device stays there."""
    function = context.index.function(node)
    if not isinstance(function, FUNCTIONS) or not _called_once(context, function):
        return False
    if context.index.enclosing(node, *LOOPS) is not None:
        return False
    here = context.index.statement(node)
    follows = any(
        loop.lineno > here.lineno
        and context.index.function(loop) is function
        and context.loops.kind(loop) is LoopKind.TRAIN
        for loop in context.index.of(ast.For)
    )
    before = [item for item in function.body if item.lineno < here.lineno and item is not here]
    return follows and not any(_lets_go(context, item, here.lineno) for item in before)


def _called_once(context: Context, function: FunctionNode) -> bool:
    """`main(args)`, by the module itself and outside its loops."""
    uses = [x for x in context.index.names.get(function.name, ()) if isinstance(x.ctx, ast.Load)]
    if len(uses) != 1 or not isinstance(context.index.parents[function], ast.Module):
        return False
    call = context.index.parents[uses[0]]
    return (
        isinstance(call, ast.Call)
        and call.func is uses[0]
        and context.index.function(call) is None
        and context.index.enclosing(call, *LOOPS) is None
    )


def _is_moved(argument: ast.expr) -> bool:
    """`x.to(device)`, with which something is computed there by whom it is given to."""
    function = argument.func if isinstance(argument, ast.Call) else None
    return isinstance(function, ast.Attribute) and function.attr in ("to", "cuda")


def _lets_go(context: Context, statement: ast.stmt, row: int) -> bool:
    """Whether a statement computes on a device, deletes, overwrites with `None`, copies to the host
    or reads a file of tensors, in front of a row."""
    for item in ast.walk(statement):
        if getattr(item, "lineno", 0) >= row:
            continue
        if isinstance(item, ast.Delete):
            return True
        if isinstance(item, ast.Assign) and _is_nothing(item.value):
            if any(_is_bound_before(context, x, statement.lineno) for x in item.targets):
                return True
        if isinstance(item, ast.Call) and isinstance(item.func, ast.Attribute):
            if item.func.attr == "cpu" or context.resolve(item.func) in _FREEING:
                return True
            first = item.args[0] if item.args else None
            if item.func.attr == "to" and isinstance(first, ast.Constant) and first.value == "cpu":
                return True
        if isinstance(item, ast.Call) and any(map(_is_moved, item.args)):
            return True
    return any(event.effect is Effect.WORK for event in context.work.events(statement))


def _is_bound_before(context: Context, target: ast.expr, row: int) -> bool:
    """Whether what becomes `None` was something in front of a row: an attribute, or a name that had
    a value."""
    if not isinstance(target, ast.Name):
        return True
    return any(
        use.lineno < row and isinstance(use.ctx, ast.Store)
        for use in context.index.names.get(target.id, ())
        if context.index.function(use) is context.index.function(target)
    )


def _is_nothing(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


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
    made = root_of(move.func, ast.Attribute, ast.Call)
    return isinstance(made, ast.Name) and any(
        isinstance(use.ctx, ast.Store) and context.index.function(use) is function
        for use in context.index.names.get(made.id, ())
    )
