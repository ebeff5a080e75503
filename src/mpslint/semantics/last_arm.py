"""The last arm of a device selection: what is taken wherever there is no CUDA."""

from __future__ import annotations

import ast

from mpslint.semantics.context import Context


def deciding_test(context: Context, node: ast.expr) -> ast.expr | None:
    """The CUDA test of the selection whose last arm is `node`; None where it is no last arm."""
    test = _test_before(context, node)
    if test is None or "cuda" not in context.guards.implied(test, True):
        return None
    return test


def _test_before(context: Context, node: ast.expr) -> ast.expr | None:
    value: ast.expr = node
    parent = context.index.parents[value]
    if isinstance(parent, ast.Call) and context.resolve(parent.func) == "torch.device":
        value, parent = parent, context.index.parents[parent]
    if isinstance(parent, ast.IfExp) and parent.orelse is value:
        return parent.test if _is_cuda(context, parent.body) else None
    if not isinstance(parent, ast.Assign) or context.devices.slot(node) is None:
        return None
    branch = context.index.parents[parent]
    if not isinstance(branch, ast.If) or parent not in branch.orelse:
        return None
    target = ast.unparse(parent.targets[0])
    for statement in branch.body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == target:
            return branch.test if _is_cuda(context, statement.value) else None
    return None


def _is_cuda(context: Context, node: ast.expr) -> bool:
    return "cuda" in (context.values.of(node).devices or ())
