"""Selections by one mask that go into a loss, which makes one number of them.

`F.mse_loss(guess[known], label[known])` counts what the mask holds before it compares; a loss that
is not reduced, weighed by the mask and added up, does so on the device. So does a function of the
file that is such a loss: `loss = (guess - label) ** 2; return torch.mean(loss)`.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.operands.zero_dims import has_no_dimension
from mpslint.semantics.packages.consumers import reads_of
from mpslint.semantics.syntax.expressions import argument, last_name
from mpslint.semantics.syntax.index import FUNCTIONS, FunctionNode
from mpslint.semantics.syntax.methods import only_method_of_self

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_SHAPED = frozenset({"float", "long", "int", "double", "squeeze", "view", "reshape", "flatten"})
_REDUCED = frozenset({"torch.mean", "torch.sum"})
_NAMES_FOLLOWED = 2


def goes_into_loss(
    context: Context, item: ast.expr, mask: ast.expr, names: int = _NAMES_FOLLOWED
) -> bool:
    """Whether `mask`, by which `item` is selected, selects all that a loss compares, be it by names
    (`y = y[known]`, `guess = guess[known]`, and `F.mse_loss(guess, y)`)."""
    given = _shaped(context, item)
    parent = context.index.parents[given]
    if isinstance(parent, ast.Assign) and parent.value is given and names:
        target = parent.targets[0] if len(parent.targets) == 1 else None
        uses = list(reads_of(context, target)) if isinstance(target, ast.Name) else []
        return bool(uses) and all(
            len(context.flow.reaching(use)) == 1 and goes_into_loss(context, use, mask, names - 1)
            for use in uses
        )
    call = parent
    if not isinstance(call, ast.Call) or given not in call.args or len(call.args) < 2:
        return False
    if not all(_is_selected(context, argument, mask, _NAMES_FOLLOWED) for argument in call.args):
        return False
    if has_no_dimension(context, call):  # What takes several tensors and gives one number.
        return True
    function = _own_function(context, call)
    return function is not None and not call.keywords and _reduces(context, function)


def _shaped(context: Context, node: ast.expr) -> ast.expr:
    """`x[mask].view(-1)` of `x[mask]`"""
    while True:
        method = context.index.parents[node]
        if not isinstance(method, ast.Attribute) or method.attr not in _SHAPED:
            return node
        call = context.index.parents[method]
        if not isinstance(call, ast.Call) or call.func is not method:
            return node
        node = call


def _is_selected(context: Context, node: ast.expr, mask: ast.expr, names: int) -> bool:
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr not in _SHAPED:
            break
        node = node.func.value
    if isinstance(node, ast.Name) and names:
        bindings = context.flow.reaching(node)
        given = bindings[0].value if len(bindings) == 1 and bindings[0].kind == "assign" else None
        return given is not None and _is_selected(context, given, mask, names - 1)
    by = mask_of(context, node)
    return by is not None and _is_same(context, by, mask)


def mask_of(context: Context, node: ast.expr) -> ast.expr | None:
    """`m` of `x[m]`, of `x.masked_select(m)` and of `torch.masked_select(x, m)`."""
    if isinstance(node, ast.Subscript):
        return node.slice
    if not isinstance(node, ast.Call) or last_name(node.func) != "masked_select":
        return None
    place = 1 if context.resolve(node.func) == "torch.masked_select" else 0
    return argument(node, place, "mask")


def _is_same(context: Context, one: ast.expr, other: ast.expr) -> bool:
    """Whether two masks are one: written alike, of names that were given the same."""
    if ast.dump(one) != ast.dump(other):
        return False
    pairs = zip(_names(one), _names(other), strict=True)
    return all(context.flow.reaching(a) == context.flow.reaching(b) for a, b in pairs)


def _names(node: ast.expr) -> list[ast.Name]:
    return [item for item in ast.walk(node) if isinstance(item, ast.Name)]


def _own_function(context: Context, call: ast.Call) -> FunctionNode | None:
    """The function of this file, or the method of the same class, that is called."""
    target = call.func
    if isinstance(target, ast.Name):
        bindings = context.names.bindings(target.id, target)
        node = bindings[0].node if len(bindings) == 1 else None
        return node if isinstance(node, FUNCTIONS) else None
    return only_method_of_self(context.index, target)


def _reduces(context: Context, function: FunctionNode) -> bool:
    """Whether all that a function does is to reckon element by element and to take the mean or the
    sum of everything."""
    returns = context.index.returns(function)
    return len(returns) == 1 and returns[0].value is not None and _is_sum(context, returns[0].value)


def _is_sum(context: Context, node: ast.expr) -> bool:
    if not isinstance(node, ast.Call) or node.keywords:
        return False
    if context.resolve(node.func) in _REDUCED:
        return len(node.args) == 1 and _by_element(context, node.args[0], _NAMES_FOLLOWED)
    method = node.func
    if not isinstance(method, ast.Attribute) or node.args or method.attr not in ("mean", "sum"):
        return False
    return _by_element(context, method.value, _NAMES_FOLLOWED)


def _by_element(context: Context, node: ast.expr, names: int) -> bool:
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.MatMult):
        return all(_by_element(context, side, names) for side in (node.left, node.right))
    if isinstance(node, ast.UnaryOp):
        return _by_element(context, node.operand, names)
    if not isinstance(node, ast.Name) or not names:
        return False
    bindings = context.flow.reaching(node)
    return bool(bindings) and all(
        item.kind == "parameter"
        or (
            item.kind == "assign"
            and item.value is not None
            and _by_element(context, item.value, names - 1)
        )
        for item in bindings
    )
