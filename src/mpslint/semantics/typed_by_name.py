"""Casts to the type of another tensor by its name, which MPS has no types for.

`y.type(x.type())` asks for `torch.mps.FloatTensor` where `x` is on MPS: `ValueError: invalid type`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

# Fact: pytorch#118517, open as of torch 2.13.
SPEAKING_OF_TYPES = (b".type()",)
_PARTS = 2
"""Where a name holds what is asked of a tensor, so many bindings of it are looked at."""


def typed_by_name(context: Context) -> Iterator[ast.Call]:
    """Calls of `.type(...)` that are given what `.type()` says of a tensor."""
    for call in context.index.calls.get("type", ()):
        if isinstance(call.func, ast.Attribute) and len(call.args) == 1 and not call.keywords:
            if _is_name_of_type(context, call.args[0]):
                yield call


def _is_name_of_type(context: Context, node: ast.expr) -> bool:
    if isinstance(node, ast.Name):
        owner = context.names.owner(node.id, node)
        bindings = owner.bindings.get(node.id, ()) if owner is not None else ()
        values = [binding.value for binding in bindings]
        return 0 < len(values) <= _PARTS and all(map(_asks_for_type, values))
    return _asks_for_type(node)


def _asks_for_type(node: ast.AST | None) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "type"
        and not node.args
        and not node.keywords
    )
