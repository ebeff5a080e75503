"""Tensors that come into a function and have not been moved yet: it does so itself, further down.

`assert labels.max() < n` before `labels = labels.to(device)`: who moves what it is given was given
it on the host, as a loader hands it out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.expressions import arguments_for
from mpslint.semantics.syntax.index import FunctionNode, below
from mpslint.semantics.syntax.order import following

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_COMING = frozenset({"parameter", "unpack", "for"})
"""How a name is bound that stands for what comes from elsewhere."""


def is_moved_later(context: Context, node: ast.expr) -> bool:
    """Whether `node` is computed from something that its function brings to a device afterwards,
    on each way from here: before that it lies on the host, and so does what it meets."""
    return any(
        _is_moved_below(context, name) or _is_moved_by_callers(context, name)
        for name in _tensors(node)
    )


def _tensors(node: ast.expr) -> Iterator[ast.Name]:
    """The names that stand for tensors, if any does, of which `node` is computed: not those of
    functions, nor what is looked up by one."""
    if isinstance(node, ast.Name):
        yield node
    elif isinstance(node, ast.BinOp):
        yield from _tensors(node.left)
        yield from _tensors(node.right)
    elif isinstance(node, ast.UnaryOp):
        yield from _tensors(node.operand)
    elif isinstance(node, ast.Compare):
        for side in (node.left, *node.comparators):
            yield from _tensors(side)
    elif isinstance(node, ast.Subscript):
        yield from _tensors(node.value)
    elif isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute):
            yield from _tensors(node.func.value)
        for argument in node.args:
            yield from _tensors(argument)


def _is_moved_below(context: Context, name: ast.Name) -> bool:
    function = context.index.function(name)
    bindings = context.flow.reaching(name)
    if function is None or not bindings or any(one.kind not in _COMING for one in bindings):
        return False
    return any(
        set(context.flow.reaching(moved)) == set(bindings)
        for statement in following(context.index, name)
        for moved in _moved_by(context, statement, name.id)
    )


def _is_moved_by_callers(context: Context, name: ast.Name) -> bool:
    """Whether the function around returns it, and all who call that bring what they get to a device
    at once: `batch = drawn()`, `x, y = to_device(batch, device)`."""
    function = context.index.function(name)
    if function is None or context.values.of(name).devices is not None:
        return False
    if not _returns(context, function, name):
        return False
    calls = [
        use
        for use in context.index.names.get(function.name, ())
        if isinstance(use.ctx, ast.Load) and not context.index.within(use, function)
    ]
    return bool(calls) and all(_is_moved_at_once(context, call) for call in calls)


def _returns(context: Context, function: FunctionNode, name: ast.Name) -> bool:
    """Whether all that a function returns has what the name stands for in it."""
    returned = context.index.returns(function)
    bindings = set(context.flow.reaching(name))
    return bool(returned) and all(
        any(
            isinstance(part, ast.Name)
            and part.id == name.id
            and set(context.flow.reaching(part)) == bindings
            for part in (
                item.value.elts if isinstance(item.value, ast.Tuple | ast.List) else [item.value]
            )
        )
        for item in returned
    )


def _is_moved_at_once(context: Context, use: ast.Name) -> bool:
    """Whether what a call gives is moved, by itself or by a helper that is given it and a device
    and nothing else, in the statement that follows."""
    call = context.index.parents[use]
    if not isinstance(call, ast.Call) or call.func is not use:
        return False
    statement = context.index.statement(call)
    if not isinstance(statement, ast.Assign) or statement.value is not call:
        return _goes_with_device(context, call)
    target = statement.targets[0]
    after = next(iter(following(context.index, call)), None)
    return isinstance(target, ast.Name) and any(
        isinstance(item, ast.Name) and item.id == target.id and _goes_with_device(context, item)
        for item in (ast.walk(after) if after is not None else ())
    )


def _goes_with_device(context: Context, node: ast.expr) -> bool:
    """`to_device(batch, device)`, `batch.to(device)`"""
    parent = context.index.parents[node]
    if isinstance(parent, ast.Attribute):
        call = context.index.parents[parent]
        return isinstance(call, ast.Call) and call.func is parent and _goes_away(context, call)
    if not isinstance(parent, ast.Call) or node not in parent.args or parent.func is node:
        return False
    others = [one for one in parent.args if one is not node]
    others += [item.value for item in parent.keywords]
    return (
        len(others) == 1
        and isinstance(parent.func, ast.Name)
        and context.placement.names_accelerator(others[0])
        and not _is_of_other(context, others[0])
    )


def _moved_by(context: Context, statement: ast.stmt, name: str) -> Iterator[ast.Name]:
    """`x` of `x = x.to(device)`, and of `a, x = a.to(device), x.to(device)`."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return
    target = statement.targets[0]
    pairs = [(target, statement.value)]
    if isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple):
        pairs = list(zip(target.elts, statement.value.elts, strict=False))
    for place, value in pairs:
        if not isinstance(place, ast.Name) or place.id != name:
            continue
        for call in (value, *below(value)):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
                moved = call.func.value
                while isinstance(moved, ast.Call) and isinstance(moved.func, ast.Attribute):
                    moved = moved.func.value  # `x.long().to(device)`
                if isinstance(moved, ast.Name) and moved.id == name and _goes_away(context, call):
                    yield moved


def _goes_away(context: Context, call: ast.Call) -> bool:
    """Whether a call brings a tensor to a device. What goes to where another tensor is may be
    there already."""
    assert isinstance(call.func, ast.Attribute)
    if call.func.attr == "cuda":
        return True
    if call.func.attr != "to":
        return False
    places = arguments_for(call, 0, "device")
    return any(
        context.placement.names_accelerator(place) and not _is_of_other(context, place)
        for place in places
    )


def _is_of_other(context: Context, place: ast.expr) -> bool:
    """`x.device` of what came in beside it."""
    return (
        isinstance(place, ast.Attribute)
        and isinstance(place.value, ast.Name)
        and any(one.kind in ("unpack", "for") for one in context.flow.reaching(place.value))
    )
