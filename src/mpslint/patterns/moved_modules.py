"""Modules that are loaded as a whole, and moved where they are loaded or below.

What such a module holds that is neither a parameter nor a buffer, a table of positions say, no move
takes along: it stays where it is loaded to, beside parameters that have gone.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.patterns.in_use import follows_machine
from mpslint.patterns.loaded_modules import is_module
from mpslint.patterns.references import Reference
from mpslint.semantics.syntax.expressions import arguments_for, root_of

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


def move_of_module(context: Context, call: ast.Call) -> ast.Call | None:
    """The move of a whole module, where it is loaded or below: `model = torch.load(path)` and
    `model.to(device)`."""
    if not is_module(context, call):
        return None
    statement = context.index.parents[call]
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    held = {one.id for one in targets if isinstance(one, ast.Name)}
    later = (
        move
        for move in context.index.calls.get("to", ())
        if isinstance(move.func, ast.Attribute)
        and isinstance(move.func.value, ast.Name)
        and move.func.value.id in held
        and context.index.function(move) is context.index.function(call)
        and may_follow(context, call, move)
        and not _is_used_before(context, call, move)
    )
    return _moved_at_once(context, call) or next(later, None)


def _is_used_before(context: Context, call: ast.Call, move: ast.Call) -> bool:
    """Whether something of a module is asked for between its load and its move: what it holds may
    be read on the host there."""
    held = root_of(move.func)
    return isinstance(held, ast.Name) and any(
        call.lineno < use.lineno < move.lineno
        for use in context.index.names.get(held.id, ())
        if isinstance(use.ctx, ast.Load)
        and context.index.function(use) is context.index.function(call)
        and not _is_only_set(context, use)
    )


def _is_only_set(context: Context, use: ast.Name) -> bool:
    """`model.eval()`, `model.train()`"""
    method = context.index.parents[use]
    return isinstance(method, ast.Attribute) and method.attr in ("eval", "train", "requires_grad_")


def _moved_at_once(context: Context, call: ast.Call) -> ast.Call | None:
    """`torch.jit.load(path).eval().to(device)`: the move of a module where it is loaded."""
    node: ast.AST = call
    while isinstance(method := context.index.parents[node], ast.Attribute):
        outer = context.index.parents[method]
        if not isinstance(outer, ast.Call) or outer.func is not method:
            return None
        if method.attr in ("to", "cuda"):
            return outer
        node = outer
    return None


def device_of_move(context: Context, call: ast.Call, move: ast.Call) -> Reference | None:
    """The device at hand to which a whole module is moved: what it holds that is no parameter and
    no buffer goes nowhere but where it is loaded to."""
    at_hand = context.devices.at_hand(call)
    given = [ast.unparse(one) for one in arguments_for(move, 0, "device")]
    if at_hand is None or given != [at_hand.text] or not follows_machine(context, at_hand):
        return None
    return Reference(at_hand.text, at_hand.is_string, ())


def may_follow(context: Context, call: ast.Call, move: ast.Call) -> bool:
    """Whether a move of the same function comes after the load: what was moved before is another
    module, and in the other arm of a test nobody comes to who has loaded this one."""
    if any(isinstance(one, ast.For | ast.While) for one in context.index.ancestors(call)):
        return True
    if move.lineno < call.lineno:
        return False
    arms = {
        one: _arm(one, call) for one in context.index.ancestors(call) if isinstance(one, ast.If)
    }
    return all(
        arms[one] == _arm(one, move)
        for one in context.index.ancestors(move)
        if one in arms and isinstance(one, ast.If)
    )


def _arm(test: ast.If, call: ast.Call) -> bool:
    """Whether a call stands below the test itself, and not below its `else`."""
    return not test.orelse or call.lineno < test.orelse[0].lineno
