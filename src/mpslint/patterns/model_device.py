"""The device of a model that a function is given: `result = net(image[None].cuda())`.

Whoever calls has put the model somewhere, and what it is called with belongs there, on every
machine: `next(net.parameters()).device`. It is written only where nothing else of the file wants a
device that would have to be selected: one name for all of them reads better.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.patterns.place import device_places
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.terms.value import Kind

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_KEY = "whether models tell the device of all that the file moves"
_OF_MODULES = frozenset({"eval", "train", "parameters", "zero_grad"})
"""Methods that a module has, and nothing else that is called with tensors."""
_SELECTING = frozenset({"assignment", "return", "parameter", "option", "field", "item"})
"""Slots that give a device a name, or choose it."""


def model_device(context: Context, node: ast.AST) -> str | None:
    """The device of the model that is called with what is moved at `node`; None: there is none, or
    the file needs a selection all the same."""
    model = _model(context, node)
    if model is None or not _tell_all(context):
        return None
    return f"next({model}.parameters()).device"


def _tell_all(context: Context) -> bool:
    if _KEY not in context.memo:
        places = [one for one in device_places(context) if not _selects(context, one)]
        context.memo[_KEY] = all(_model(context, one) is not None for one in places)
    return bool(context.memo[_KEY])


def _selects(context: Context, place: ast.AST) -> bool:
    slot = context.devices.slot(place) if isinstance(place, ast.expr) else None
    if slot is not None and slot.kind == "device" and isinstance(slot.node, ast.expr):
        slot = context.devices.slot(slot.node) or slot
    return slot is not None and slot.kind in _SELECTING


def _model(context: Context, node: ast.AST) -> str | None:
    """The parameter of a function around that is called as a module with what is moved here."""
    move = node if isinstance(node, ast.Call) else context.index.enclosing(node, ast.Call)
    if not isinstance(move, ast.Call) or not isinstance(move.func, ast.Attribute):
        return None
    if move.func.attr not in ("cuda", "to") or context.resolve(move.func) is not None:
        return None
    child: ast.AST = move
    for parent in context.index.ancestors(move):
        if isinstance(parent, ast.Call) and child in parent.args:
            function = parent.func
            if isinstance(function, ast.Name) and _is_given(context, function):
                return function.id
            return None
        if not isinstance(parent, ast.Attribute | ast.Call | ast.Subscript) or (
            isinstance(parent, ast.Subscript) and parent.value is not child
        ):
            return None
        child = parent
    return None


def _is_given(context: Context, model: ast.Name) -> bool:
    """Whether a name is a parameter of a function, and that of a module."""
    bindings = context.flow.reaching(model) or tuple(context.names.bindings(model.id, model))
    if len(bindings) != 1 or not isinstance(bindings[0].node, ast.arg):
        return False
    parameter = bindings[0].node
    if context.values.annotation(parameter.annotation).kind is Kind.MODULE:
        return True
    function = context.index.function(parameter)
    if not isinstance(function, FUNCTIONS):
        return False
    return any(
        isinstance(use, ast.Attribute) and use.attr in _OF_MODULES
        for held in context.index.names.get(model.id, ())
        if context.index.within(held, function)
        for use in (context.index.parents[held],)
    )
