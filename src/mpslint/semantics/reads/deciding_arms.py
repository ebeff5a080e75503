"""Whether what comes after a test hangs on how it comes out.

`if torch.isnan(loss): continue` and `if torch.isfinite(loss): optimizer.step()` decide what is
computed, so that somebody has to wait for the answer. What ends all, or only tells of it, does not:
neither does what an arm gives names that it alone reads (`state = model.state_dict();
torch.save(state, path)`).
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.expressions import last_name, root_of
from mpslint.semantics.syntax.giving_up import gives_up

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_STEPS = ("backward", "step")
_LEAVING = (ast.Continue, ast.Return)


def decides_what_comes(context: Context, node: ast.If | ast.IfExp) -> bool:
    if isinstance(node, ast.IfExp):
        return True
    for arm in (node.body, node.orelse):
        if arm and not gives_up(arm) and any(_changes(context, item, arm) for item in arm):
            return True
    return False


def _changes(context: Context, statement: ast.stmt, arm: list[ast.stmt]) -> bool:
    """Whether a statement of an arm goes on elsewhere, trains, or gives something a value that is
    read behind the arm. What a `break` ends, it ends for good."""
    for item in ast.walk(statement):
        if isinstance(item, _LEAVING):
            return True
        if isinstance(item, ast.Call) and last_name(item.func) in _STEPS:
            return True
        if isinstance(item, ast.Attribute | ast.Subscript) and isinstance(item.ctx, ast.Store):
            if not _is_of_arm(context, item, arm):
                return True
        if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store):
            if _is_read_outside(context, item, arm):
                return True
    return False


def _is_of_arm(context: Context, stored: ast.expr, arm: list[ast.stmt]) -> bool:
    """`new[key] = value`, where the arm has made `new` itself."""
    stored = root_of(stored, ast.Attribute, ast.Subscript)
    if not isinstance(stored, ast.Name):
        return False
    bindings = context.flow.reaching(stored)
    return bool(bindings) and all(_within(context, binding.node, arm) for binding in bindings)


def _is_read_outside(context: Context, stored: ast.Name, arm: list[ast.stmt]) -> bool:
    return any(
        isinstance(use.ctx, ast.Load)
        and not _within(context, use, arm)
        and any(_within(context, item.node, arm) for item in context.flow.reaching(use))
        for use in context.index.names.get(stored.id, ())
    )


def _within(context: Context, node: ast.AST, arm: list[ast.stmt]) -> bool:
    return any(context.index.within(node, statement) for statement in arm)
