"""Losses that a loop sums up: `total += loss.item()`, and the same with the sum on the device."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.model import Applicability, Fix
from mpslint.patterns.insertion import insert_after
from mpslint.patterns.text import replace_span

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.steps.steps import Turns


def accumulates(
    context: Context, statement: ast.stmt, call: ast.Call, tensor: ast.expr, turns: Turns
) -> bool:
    """`total += loss.item()`, with `total = 0` before the loop and no other use inside it."""
    if not isinstance(statement, ast.AugAssign) or not isinstance(statement.op, ast.Add):
        return False
    if context.loops.innermost(statement) is not turns:
        return False
    target = statement.target
    if not isinstance(target, ast.Name) or not context.values.of(tensor).loss:
        return False
    if not isinstance(call.func, ast.Attribute) or not _is_product(statement.value, call):
        return False
    owner = context.names.owner(target.id, target)
    if owner is not context.names.scope_of(turns):
        return False
    for use in context.index.names.get(target.id, ()):
        if use is not target and context.index.within(use, turns):
            return False
    bindings = context.flow.reaching_name(target.id, turns)
    return bool(bindings) and all(
        isinstance(b.value, ast.Constant)
        and type(b.value.value) in (int, float)
        and b.value.value == 0
        and b.kind == "assign"
        for b in bindings
    )


def _is_product(node: ast.expr, call: ast.Call) -> bool:
    """Whether `node` is the call, or the call times or by something."""
    if node is call:
        return True
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
        return node.left is call or (isinstance(node.op, ast.Mult) and node.right is call)
    return False


def waits_anyway(context: Context, call: ast.expr, turns: Turns) -> ast.Call | None:
    """Another copy to the host that each turn makes: who reads a sum behind the loop still waits
    for the device in it, and has a number of another dtype for nothing."""
    for other in context.index.calls.get("cpu", ()):
        if other.args or not context.index.within(other, turns):
            continue
        if context.index.within(call, other) or context.index.within(other, call):
            continue
        around = context.index.enclosing(other, ast.If, ast.IfExp, ast.Try)
        if around is None or not context.index.within(around, turns):
            return other
    return None


def keep_on_device(
    context: Context, call: ast.expr, turns: Turns, statement: ast.stmt
) -> Fix | None:
    assert isinstance(statement, ast.AugAssign)
    assert isinstance(statement.target, ast.Name)
    assert isinstance(call, ast.Call)
    name = statement.target.id
    read_after = insert_after(context, turns, [f"{name} = float({name})"])
    if read_after is None:
        return None
    start, _ = context.name_token(call.func)  # type: ignore[arg-type]
    kept = replace_span(context.source, start, context.source.span(call)[1], "detach()")
    return Fix(
        f"Sum up on the device and read `{name}` once after the loop",
        (kept, read_after),
        Applicability.UNSAFE,
    )
