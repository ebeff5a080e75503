"""What an object keeps of a call: `criterion(scores, y)`, and then `criterion.style_loss`.

A loss of several parts that is given tensors of a device keeps these where it was computed.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.steps.handed_back import works_on_device

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


def is_kept_by_called(context: Context, node: ast.expr) -> bool:
    """Whether `node` is an attribute, be it under a name, of an object which the same turn of the
    same loop calls before that, and gives tensors of a device."""
    given = [node]
    if isinstance(node, ast.Name):
        bindings = context.flow.reaching(node)
        if any(binding.kind != "assign" for binding in bindings):
            return False
        given = [binding.value for binding in bindings if binding.value is not None]
    return bool(given) and all(
        isinstance(item, ast.Attribute) and _is_of_called(context, item) for item in given
    )


def _is_of_called(context: Context, kept: ast.Attribute) -> bool:
    loop, owner = context.loops.innermost(kept), kept.value
    while isinstance(owner, ast.Attribute | ast.Name):
        name = owner.attr if isinstance(owner, ast.Attribute) else owner.id
        spelled = ast.unparse(owner)
        for call in context.index.calls.get(name, ()):
            if (
                call.lineno < kept.lineno
                and context.loops.innermost(call) is loop
                and context.index.function(call) is context.index.function(kept)
                and ast.unparse(call.func) == spelled
                and works_on_device(context, call)
            ):
                return True
        if isinstance(owner, ast.Name):
            return False
        owner = owner.value
    return False
