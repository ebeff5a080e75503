"""What is computed on the CPU with a copy of a tensor, and is brought back to where that was.

`torch.linalg.svd(a.cpu())[0].cuda()` and `h.scatter_add_(0, i.cpu(), x.cpu()).cuda()`: who copies a
tensor to the CPU for an operator had it elsewhere, and wants the result there.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_ARRAYS = ("numpy", "from_numpy", "tolist", "item")
_MOVES = ("cuda", "to")
_SAME = ("detach", "clone", "contiguous", "float", "double")


def brought_back(context: Context, node: ast.AST) -> str | None:
    """The name of the tensor of which a copy on the CPU is computed with in what is moved at
    `node`; None: there is none, or it went through an array, as what was on no GPU does, too."""
    call = node if isinstance(node, ast.Call) else context.index.enclosing(node, ast.Call)
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    if call.func.attr not in _MOVES or context.index.function(call) is None:
        return None
    inside = list(ast.walk(call.func.value))
    if any(isinstance(one, ast.Attribute) and one.attr in _ARRAYS for one in inside):
        return None
    copied = [
        tensor
        for one in inside
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute)
        if one.func.attr == "cpu" and not one.args and one is not call.func.value
        if (tensor := _tensor(context, one.func.value)) is not None
        # A loop in an expression has a name of its own.
        if context.names.owner(tensor.id, tensor) is context.names.owner(tensor.id, call)
        if context.flow.surely_bound(tensor.id, call)
    ]
    return min(copied, key=lambda one: (one.lineno, one.col_offset)).id if copied else None


def _tensor(context: Context, value: ast.expr) -> ast.Name | None:
    """`x` of `x` and of `x.detach()`, a variable."""
    while True:
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            if value.func.attr not in _SAME or value.args:
                return None
            value = value.func.value
        elif isinstance(value, ast.Attribute) and value.attr == "data":
            value = value.value
        else:
            break
    is_variable = isinstance(value, ast.Name) and context.resolve(value) is None
    return value if is_variable else None  # type: ignore[return-value]
