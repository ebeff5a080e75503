"""Tensors of the CPU that nobody holds any more once they are copied to a device."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


def replaces_source(context: Context, call: ast.Call) -> bool:
    """Whether `x = x.cuda(...)` lets go of a tensor that a loop over a loader has just bound: of
    anything else somebody may still know."""
    assert isinstance(call.func, ast.Attribute)
    base, parent = call.func.value, context.index.parents[call]
    if isinstance(parent, ast.Tuple):  # `x, y = x.cuda(), y.cuda()`
        parent = context.index.parents[parent]
    if not isinstance(base, ast.Name) or not isinstance(parent, ast.Assign):
        return False
    stored = {
        item.id
        for target in parent.targets
        for item in (target.elts if isinstance(target, ast.Tuple) else [target])
        if isinstance(item, ast.Name)
    }
    return base.id in stored and any(
        base.id in batch.parts and context.index.within(call, batch.loop)
        for batch in context.batches.all
    )


def makes_source(call: ast.Call) -> bool:
    """Whether `f(...).cuda(...)` moves what nobody else has a name for; `.pin_memory()` pins where
    CUDA is alone. A method may give a view of what somebody holds."""
    assert isinstance(call.func, ast.Attribute)
    base = call.func.value
    if not isinstance(base, ast.Call) or not isinstance(base.func, ast.Attribute):
        return False
    return base.func.attr == "pin_memory"
