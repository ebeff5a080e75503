"""Masks that select elements of tensors where the shapes could stay as they are.

`x[mask] = y[mask]` and `loss[mask].mean()` first count what the mask holds, for the size of what is
selected, and the host waits for that number; `torch.where(mask, y, x)` and a sum that the mask
weighs do the same on the device.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from mpslint.records import NamedTuple
from mpslint.semantics.packages.consumers import reads_of
from mpslint.semantics.reads.counted_masks import is_only_counted
from mpslint.semantics.reads.masked_losses import goes_into_loss, mask_of
from mpslint.semantics.reads.masked_rows import ends_in_mean
from mpslint.semantics.reads.own_numbers import is_own_vector
from mpslint.semantics.steps.forward_inputs import from_forward
from mpslint.semantics.syntax.expressions import keyword, last_name
from mpslint.semantics.terms.value import Kind

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_REDUCED = frozenset({"mean", "sum"})
_BY_ELEMENT = frozenset(
    {"abs", "neg", "exp", "log", "sqrt", "sin", "cos", "tan", "tanh", "sigmoid", "relu", "square"}
)
_CASTS = frozenset({"float", "double", "half", "int", "long"})
_SHAPED = frozenset(
    {"unsqueeze", "squeeze", "view", "reshape", "flatten", "expand", "expand_as", "view_as"}
    | {"detach", "contiguous", "clone", "repeat", "to"}
)
"""Methods that make a mask of a mask."""
_COMPARING = frozenset({"eq", "ne", "gt", "lt", "ge", "le"})
_LOGICAL = frozenset({"logical_not", "logical_and", "logical_or", "logical_xor"})
_FINITE = frozenset({"isnan", "isinf", "isfinite"})
_JOINED = ast.BitAnd | ast.BitOr | ast.BitXor
_CHOSEN = "`torch.where` selects without a size"
_WEIGHED = "a sum over all that the mask weighs needs no size"
_COUNTED = "only their number is needed, which is the sum of the mask"
_BY_LOSS = "`torch.where` can put there what adds nothing to the loss"
_NAMES_FOLLOWED = 2
"""`valid = target > 0`, `valid = valid & (target < top)`, and the index: more is rare."""


class Selection(NamedTuple):
    node: ast.Subscript | ast.Call
    mask: ast.expr
    instead: str


def needless_selections(
    context: Context, runs_often: Callable[[ast.AST], bool]
) -> Iterator[Selection]:
    """Those that run often, where all of a tensor could be reckoned with."""
    for item in context.index.of(ast.Subscript):
        if isinstance(item.slice, ast.Compare | ast.Name | ast.BinOp | ast.UnaryOp | ast.Call):
            instead = _instead(context, item)
            if instead and is_mask(context, item.slice, _NAMES_FOLLOWED) and runs_often(item):
                yield Selection(item, item.slice, instead)
    for call in context.index.calls.get("masked_select", ()):
        mask = mask_of(context, call)
        if mask is None:
            continue
        # Whatever the mask comes from, nothing else is taken for one here; and what a loader hands
        # out lies beside what it selects from.
        value = context.values.of(mask)
        if value.on_cpu and not value.drawn:
            continue
        if _is_reduced(context, call):
            instead = _WEIGHED
        elif is_only_counted(context, call):
            instead = _COUNTED
        elif goes_into_loss(context, call, mask):
            instead = _BY_LOSS
        else:
            continue
        if runs_often(call):
            yield Selection(call, mask, instead)


def _instead(context: Context, item: ast.Subscript) -> str:
    """What does without the selection; empty: nobody can tell."""
    statement = context.index.parents[item]
    if isinstance(item.ctx, ast.Store):
        if isinstance(statement, ast.Assign) and statement.targets == [item]:
            if _is_selected(context, statement.value, item.slice) is True:
                return _CHOSEN
            if is_own_vector(context, statement.value):
                return _CHOSEN
        if isinstance(statement, ast.AugAssign):  # `x[mask] *= 0` selects before it writes.
            if _is_selected(context, statement.value, item.slice) is not False:
                return _CHOSEN
        return ""
    if _is_reduced(context, item):
        return _WEIGHED
    if is_only_counted(context, item):
        return _COUNTED
    if goes_into_loss(context, item, item.slice):
        return _BY_LOSS
    return _WEIGHED if ends_in_mean(context, item) else ""


def _is_selected(context: Context, given: ast.expr, mask: ast.expr) -> bool | None:
    """Whether something is reckoned element by element from what this mask selects; None: of
    numbers alone, which say nothing; False: from something else."""
    if isinstance(given, ast.Subscript):
        return _is_same(given.slice, mask)
    if isinstance(given, ast.UnaryOp):
        return _is_selected(context, given.operand, mask)
    if isinstance(given, ast.BinOp) and not isinstance(given.op, ast.MatMult):
        parts = [_is_selected(context, side, mask) for side in (given.left, given.right)]
    elif isinstance(given, ast.Call) and _works_by_element(context, given):
        parts = [_is_selected(context, item, mask) for item in given.args]
        if isinstance(given.func, ast.Attribute) and context.resolve(given.func) is None:
            parts.append(_is_selected(context, given.func.value, mask))
    else:
        kind = context.values.of(given).kind
        of_object = isinstance(given, ast.Attribute) and kind is Kind.UNKNOWN
        return None if kind is Kind.NUMBER or of_object else False
    return False if False in parts else (True if True in parts else None)


def _works_by_element(context: Context, call: ast.Call) -> bool:
    name = context.resolve(call.func)
    if name is not None and not name.startswith("torch."):
        return False
    last = last_name(call.func) or ""
    return last in _BY_ELEMENT and not call.keywords


def _is_same(one: ast.expr, other: ast.expr) -> bool:
    return ast.dump(one) == ast.dump(other)


def _is_reduced(context: Context, item: ast.expr, names: int = 1) -> bool:
    """`x[mask].mean()`, `(x[mask] < 1).float().mean()` and `torch.sum(x[mask])`, over all there is,
    also by way of a name."""
    parent = context.index.parents[item]
    if isinstance(parent, ast.Compare) and not isinstance(
        parent.ops[0], ast.In | ast.NotIn | ast.Is | ast.IsNot
    ):
        return _is_reduced(context, parent, names)
    if isinstance(parent, ast.Assign) and names:
        target = parent.targets[0] if len(parent.targets) == 1 else None
        return isinstance(target, ast.Name) and _are_reduced(context, target, names - 1)
    if isinstance(parent, ast.Attribute):
        call = context.index.parents[parent]
        if not isinstance(call, ast.Call) or call.func is not parent or call.keywords or call.args:
            return False
        by_element = parent.attr in _BY_ELEMENT or parent.attr in _CASTS
        return parent.attr in _REDUCED or (by_element and _is_reduced(context, call, names))
    if not isinstance(parent, ast.Call) or parent.args != [item] or parent.keywords:
        return False
    return context.resolve(parent.func) in {f"torch.{name}" for name in _REDUCED}


def _are_reduced(context: Context, target: ast.Name, names: int) -> bool:
    """Whether all that is asked of the name that is given a selection is its mean or sum."""
    uses = list(reads_of(context, target))
    return bool(uses) and all(
        len(context.flow.reaching(use)) == 1 and _is_reduced(context, use, names) for use in uses
    )


def _asks_input(context: Context, node: ast.Compare) -> bool:
    """`target != -100`, of what a module is given to compute with."""
    if isinstance(node.ops[0], ast.In | ast.NotIn | ast.Is | ast.IsNot):
        return False
    value = context.values.of(node.left)
    unknown = value.kind is Kind.UNKNOWN and not value.on_cpu
    return unknown and isinstance(node.left, ast.Name) and from_forward(context, node.left)


def _is_of_bools(context: Context, call: ast.Call) -> bool:
    """`torch.zeros(n, dtype=torch.bool, device=x.device)`, which is filled further down."""
    made = (context.resolve(call.func) or "").startswith("torch.")
    dtype = keyword(call, "dtype")
    return made and dtype is not None and context.resolve(dtype) == "torch.bool"


def is_mask(context: Context, node: ast.expr, names: int = 0) -> bool:
    """Whether `node` is a comparison of tensors, several of them joined, or a name for such."""
    if isinstance(node, ast.Compare):
        value = context.values.of(node)
        known = value.kind is Kind.TENSOR or _asks_input(context, node)
        return known and not value.on_cpu
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Invert) and is_mask(context, node.operand, names)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr == "bool" and not node.args:
            return not context.values.of(node).on_cpu  # Nothing but a tensor has this method.
        if node.func.attr in _COMPARING and (node.args or node.keywords):
            return not context.values.of(node).on_cpu  # `target.gt(0)`, `torch.eq(a, b)`
        if node.func.attr in _LOGICAL:
            return any(is_mask(context, item, names) for item in node.args)
        if _is_of_bools(context, node):
            return not context.values.of(node).on_cpu
        if node.func.attr in _FINITE:
            value = context.values.of(node)  # `torch.isnan(x)`, and not NumPy's
            return value.kind is Kind.TENSOR and not value.on_cpu
        return node.func.attr in _SHAPED and is_mask(context, node.func.value, names)
    if isinstance(node, ast.BinOp):
        sides = (node.left, node.right)
        return isinstance(node.op, _JOINED) and any(is_mask(context, one, names) for one in sides)
    if not isinstance(node, ast.Name) or not names:
        return False
    given = [binding.value for binding in context.flow.reaching(node)]
    return bool(given) and all(
        item is not None and is_mask(context, item, names - 1) for item in given
    )
