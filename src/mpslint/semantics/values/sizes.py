"""Tensors that are known to be more than one number: made with a size, or reckoned from such."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.expressions import last_name

if TYPE_CHECKING:
    from mpslint.semantics.names.flow import Flow
    from mpslint.semantics.names.names import Names

_STEPS = 6
"""So many expressions within each other are followed."""
_OF_A_SIZE = frozenset({"rand", "randn", "zeros", "ones", "empty", "full"})
"""What is told the size first: `torch.zeros(())` alone makes a single number."""
_ROWS = frozenset({"arange", "range", "linspace", "logspace", "randperm", "eye"})


def has_size(names: Names, flow: Flow, node: ast.expr, steps: int = _STEPS) -> bool:
    """Whether a tensor has dimensions for certain."""
    if not steps:
        return False
    if isinstance(node, ast.BinOp):
        return any(has_size(names, flow, side, steps - 1) for side in (node.left, node.right))
    if isinstance(node, ast.Name):
        bound = flow.reaching(node)
        return bool(bound) and all(
            one.kind == "assign"
            and one.value is not None
            and has_size(names, flow, one.value, steps - 1)
            for one in bound
        )
    if not isinstance(node, ast.Call) or not node.args:
        return False
    name = last_name(node.func)
    if not (names.resolve(node.func) or "").startswith("torch."):
        return False
    first = node.args[0]
    if name in _ROWS:
        return True
    return name in _OF_A_SIZE and not (isinstance(first, ast.Tuple | ast.List) and not first.elts)
