"""What calls out of sight hand back, where they are given tensors of a device.

`top1, top5 = accuracy(scores, y)` and `losses = criterion(scores, y)` are computed where `scores`
lies, whoever wrote them; so are the losses that a dictionary holds by name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.steps.handed_tensors import is_handed
from mpslint.semantics.steps.steps import is_device_tensor
from mpslint.semantics.terms.value import Kind
from mpslint.semantics.values.gradients import gradients_of

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_CALLS_FOLLOWED = 6
"""`reduced(criterion(scores, y))`, what a comprehension makes of its items, and their sum: each is
two steps, from a name to a call and from the call to what it is given."""
_OF_TABLES = ("items", "values")
_MOVING = ("to", "cuda")
_MOVES = "handed-back.moves-batches"


def comes_from_device_work(context: Context, name: ast.Name, depth: int = _CALLS_FOLLOWED) -> bool:
    """Whether all that gives `name` its value is a call that works on tensors of a device, or a
    walk through what such a call hands back."""
    bindings = context.flow.reaching(name)
    return (
        bool(bindings)
        and not _has_own_backward(context, name)
        and all(
            (
                item.kind in ("assign", "unpack")
                and isinstance(made := _whole(item.value), ast.Call)
                and works_on_device(context, made, depth)
            )
            or (
                item.kind in ("assign", "unpack")
                and bool(depth)
                and (reckoned := _whole(item.value)) is not None
                and _is_reckoned(context, reckoned, depth - 1)
            )
            or (
                item.kind == "for"
                and item.value is not None
                and _walks_through(context, item.value, name.id, item.node, depth)
            )
            for item in bindings
        )
    )


def _whole(node: ast.expr | None) -> ast.expr | None:
    """`model(x)` of `model(x)[0]`, a part of what it hands back."""
    while isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        node = node.value
    return node


def is_summed_loss(context: Context, node: ast.expr) -> bool:
    """Whether `node` is a name for what a call makes of tensors of a device, and has a part in a
    sum that goes back through the graph: a number of Python's has no gradient to give."""
    if not isinstance(node, ast.Name) or context.values.of(node).kind is not Kind.UNKNOWN:
        return False
    bindings = context.flow.reaching(node)
    if not bindings or not gradients_of(context).summands.issuperset(bindings):
        return False
    return comes_from_device_work(context, node)


def _is_reckoned(context: Context, node: ast.expr, depth: int) -> bool:
    """`loss = error + weight * penalty`, where `error` comes from a device, `loss = weight *
    criterion(scores, y)`, and another name for it (`loss = error`)."""
    if isinstance(node, ast.BinOp):
        sides = (node.left, node.right)
        return any(
            _is_reckoned(context, side, depth)
            or (isinstance(side, ast.Call) and works_on_device(context, side, depth))
            for side in sides
        )
    if isinstance(node, ast.List):  # `found = [scores, None]`, as another model hands it back
        return any(
            is_device_tensor(context, item) or _is_reckoned(context, item, depth)
            for item in node.elts
        )
    return isinstance(node, ast.Name) and comes_from_device_work(context, node, depth)


def _has_own_backward(context: Context, name: ast.Name) -> bool:
    """Whether what is named is an object of somebody's: `error.backward(x)` is given its input."""
    scope = context.names.owner(name.id, name)
    return any(
        bool(call.args)
        and isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id == name.id
        and context.names.owner(name.id, call.func.value) is scope
        for call in context.index.calls.get("backward", ())
    )


def works_on_device(context: Context, call: ast.Call, depth: int = _CALLS_FOLLOWED) -> bool:
    """Whether a call is given a tensor of a device."""
    for item in call.args:
        value = context.values.of(item)
        if is_device_tensor(context, item):
            return True
        if value.kind is Kind.TENSOR and context.placement.on_accelerator(item):
            return True
        if value.drawn and context.placement.library_places and not _moves_batches(context):
            return True
        if value.kind is Kind.UNKNOWN and is_moved_in_turns(context, item):
            return True
        if is_handed(context, item):
            return True
        if depth and value.kind is Kind.UNKNOWN:
            if isinstance(item, ast.Call) and (
                works_on_device(context, item, depth - 1) or _gives_values(context, item, depth)
            ):
                return True
            if isinstance(item, ast.Name) and comes_from_device_work(context, item, depth - 1):
                return True
    return False


def is_moved_in_turns(context: Context, node: ast.expr) -> bool:
    """Whether `node` is what each turn of a loop brings to a device (`record["x"].to(device)`), be
    it under a name: a part of a batch then, since a model is moved once."""
    moves = [node]
    if isinstance(node, ast.Name):
        bindings = context.flow.reaching(node)
        if not bindings or any(item.kind != "assign" for item in bindings):
            return False
        moves = [item.value for item in bindings if item.value is not None]
    loop = context.loops.innermost(node)
    return (
        loop is not None
        and all(
            isinstance(move, ast.Call)
            and isinstance(move.func, ast.Attribute)
            and move.func.attr in _MOVING
            and context.loops.innermost(move) is loop
            for move in moves
        )
        and context.placement.on_accelerator(node)
    )


def _moves_batches(context: Context) -> bool:
    """Whether this file moves what its loaders draw, which no library has then placed for it."""
    known = context.memo.get(_MOVES)
    if known is None:
        known = context.memo[_MOVES] = any(
            isinstance(call.func, ast.Attribute) and context.values.of(call.func.value).drawn
            for name in ("to", "cuda")
            for call in context.index.calls.get(name, ())
        )
    return bool(known)


def _gives_values(context: Context, call: ast.Call, depth: int) -> bool:
    """`table.values()` of a table of tensors of a device."""
    return (
        isinstance(call.func, ast.Attribute)
        and call.func.attr == "values"
        and not call.args
        and is_table(context, call.func.value, depth - 1)
    )


def _walks_through(context: Context, table: ast.expr, name: str, node: ast.AST, depth: int) -> bool:
    """Whether `name` is a value (not a key) of a table of tensors of a device."""
    if not depth or not isinstance(table, ast.Call) or table.args or table.keywords:
        return False
    if not isinstance(table.func, ast.Attribute) or table.func.attr not in _OF_TABLES:
        return False
    target = getattr(node, "target", None)
    if table.func.attr == "items":
        if not isinstance(target, ast.Tuple) or len(target.elts) != 2:
            return False
        target = target.elts[1]
    if not isinstance(target, ast.Name) or target.id != name:
        return False
    whole = table.func.value
    if isinstance(whole, ast.Call):
        return any(is_table(context, item, depth - 1) for item in whole.args) or works_on_device(
            context, whole, depth - 1
        )
    return is_table(context, whole, depth - 1)


def is_table(context: Context, node: ast.expr, depth: int = _CALLS_FOLLOWED) -> bool:
    """Whether `node` is a name for what a call on tensors of a device, or of a model, returns."""
    if not isinstance(node, ast.Name):
        return False
    return (
        is_device_tensor(context, node)
        or (bool(depth) and comes_from_device_work(context, node, depth))
        or _gives_a_loss(context, node)
        or _is_rewritten(context, node, depth)
    )


def _is_rewritten(context: Context, table: ast.Name, depth: int) -> bool:
    """`{name: weights[name] * loss for name, loss in losses.items()}`: a tensor of a device in
    other numbers, or under another name, lies where it lay."""
    bindings = context.flow.reaching(table)
    return (
        bool(bindings)
        and bool(depth)
        and all(
            item.kind == "assign"
            and isinstance(item.value, ast.DictComp)
            and any(
                comes_from_device_work(context, name, depth - 1)
                for name in _operands(item.value.value)
            )
            for item in bindings
        )
    )


def _operands(node: ast.expr) -> Iterator[ast.Name]:
    """The names that a product or a sum is made of."""
    if isinstance(node, ast.BinOp):
        yield from _operands(node.left)
        yield from _operands(node.right)
    elif isinstance(node, ast.Name):
        yield node


def _gives_a_loss(context: Context, table: ast.Name) -> bool:
    """Whether what a table holds under some name goes back through the graph: what it holds beside
    that are losses, too."""
    if not context.placement.program_uses_devices:
        return False
    scope = context.names.owner(table.id, table)
    for use in context.index.names.get(table.id, ()):
        item = context.index.parents[use]
        given = context.index.parents[item]
        if (
            isinstance(item, ast.Subscript)
            and isinstance(given, ast.Assign)
            and given.value is item
            and isinstance(given.targets[0], ast.Name)
            and context.names.owner(table.id, use) is scope
            and any(
                _goes_back(context, one, given) for one in context.index.calls.get("backward", ())
            )
        ):
            return True
    return False


def _goes_back(context: Context, call: ast.Call, given: ast.Assign) -> bool:
    loss = call.func.value if isinstance(call.func, ast.Attribute) else None
    return (
        isinstance(loss, ast.Name)
        and not call.args
        and any(binding.node is given for binding in context.flow.reaching(loss))
    )
