"""Selections by a mask of which nobody wants but how many there are: `len(loss[loss > 0])`.

The size that the host waits for is the sum of the mask, which stays on the device; a tensor can be
divided by that as by a number.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from mpslint.semantics.packages.consumers import reads_of
from mpslint.semantics.terms.value import Kind

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_NAMES_FOLLOWED = 2
"""`positive = loss[loss > 0]`, `n = positive.size(0)`, and what is divided by it."""


def is_only_counted(context: Context, item: ast.expr, names: int = _NAMES_FOLLOWED) -> bool:
    """Whether all that is asked of a selection is its length, and that only to reckon with it on
    the device."""
    parent = context.index.parents[item]
    if isinstance(parent, ast.Assign):
        return _all_of_name(context, parent, is_only_counted, names)
    count = _count_of(context, item, parent)
    return count is not None and _is_for_tensors(context, count, names)


def _count_of(context: Context, item: ast.expr, parent: ast.AST) -> ast.expr | None:
    """`len(x)`, `x.size(0)`, `x.shape[0]` and `x.size()[0]` of what is selected."""
    if isinstance(parent, ast.Call):
        called = isinstance(parent.func, ast.Name) and parent.func.id == "len"
        return parent if called and parent.args == [item] else None
    if not isinstance(parent, ast.Attribute) or parent.attr not in ("size", "shape"):
        return None
    sizes: ast.expr = parent
    if parent.attr == "size":
        call = context.index.parents[parent]
        if not isinstance(call, ast.Call) or call.func is not parent or call.keywords:
            return None
        if call.args:
            return call if _is_first(call.args[0]) else None
        sizes = call
    first = context.index.parents[sizes]
    taken = isinstance(first, ast.Subscript) and first.value is sizes and _is_first(first.slice)
    return first if taken else None  # type: ignore[return-value]


def _is_first(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0 and node.value is not False


def _is_for_tensors(context: Context, count: ast.expr, names: int) -> bool:
    """Whether a number is only reckoned with, together with a tensor: `loss / (n + 1e-8)`."""
    parent = context.index.parents[count]
    if isinstance(parent, ast.Assign):
        return _all_of_name(context, parent, _is_for_tensors, names)
    if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name):
        casts = parent.func.id == "float" and parent.args == [count]
        return casts and _is_for_tensors(context, parent, names)
    if not isinstance(parent, ast.BinOp) or not isinstance(
        parent.op, ast.Add | ast.Sub | ast.Mult | ast.Div
    ):
        return False
    other = parent.right if parent.left is count else parent.left
    if context.values.of(other).kind is Kind.TENSOR:
        return True
    number = isinstance(other, ast.Constant) or context.values.of(other).kind is Kind.NUMBER
    return number and _is_for_tensors(context, parent, names)


def _all_of_name(
    context: Context,
    assignment: ast.Assign,
    question: Callable[[Context, ast.expr, int], bool],
    names: int,
) -> bool:
    """Whether the answer is yes for all reads of the name that a value is given."""
    target = assignment.targets[0] if len(assignment.targets) == 1 else None
    if not isinstance(target, ast.Name) or not names:
        return False
    uses = list(reads_of(context, target))
    return bool(uses) and all(
        len(context.flow.reaching(use)) == 1 and question(context, use, names - 1) for use in uses
    )
