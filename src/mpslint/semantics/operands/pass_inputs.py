"""What a forward pass makes belongs where its inputs are: a module and all that it computes with
are on one device."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.operands.partners import is_tensor, shaping, stays
from mpslint.semantics.syntax.parameters import positional_parameters

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.syntax.index import FunctionNode


def input_beside(context: Context, made: ast.Call) -> str | None:
    """A tensor that a method is given in each forward pass of its module, and moves nowhere: what
    it makes at `made` belongs where that is, since a module and all that it computes with are on
    one device. What `made` is sized by goes first."""
    function = context.index.function(made)
    if function is None or not _is_of_pass(context, function):
        return None
    sizing = shaping(context, made)
    names = [name for name in _required(function) if _is_input(context, function, name, made)]
    return next((name for name in names if name in sizing), names[0] if names else None)


def is_given(context: Context, name: str, at: ast.Call) -> bool:
    """Whether a name is such a tensor, and still is it at `at`."""
    function = context.index.function(at)
    if function is None or not _is_of_pass(context, function) or name not in _required(function):
        return False
    return _is_input(context, function, name, at)


def _is_of_pass(context: Context, function: FunctionNode) -> bool:
    klass = context.index.parents[function]
    return (
        isinstance(klass, ast.ClassDef)
        and not function.decorator_list
        and context.values.is_module_class(klass)
        and context.passes.runs(function)
    )


def _required(function: FunctionNode) -> list[str]:
    """The parameters behind `self` that have no default."""
    positional = positional_parameters(function.args)
    without = positional[: len(positional) - len(function.args.defaults)]
    return [item.arg for item in without[1:]]


def _is_input(context: Context, function: FunctionNode, name: str, made: ast.Call) -> bool:
    bindings = context.names.own_scope(function).bindings.get(name, [])
    if len(bindings) != 1 or not context.flow.surely_bound(name, made):
        return False
    if not stays(context, function, name):
        return False
    return is_tensor(context, function, name) or _is_tensor_of_caller(context, function, name)


def _is_tensor_of_caller(context: Context, function: FunctionNode, name: str) -> bool:
    """Whether each `self.method(x)` of the class hands in a name that is a tensor there."""
    place = _required(function).index(name)
    given = []
    for call in context.index.calls.get(function.name, ()):
        around = context.index.function(call)
        value = call.args[place] if len(call.args) > place else None
        if around is None or not isinstance(value, ast.Name) or call.keywords:
            return False
        if context.index.parents[around] is not context.index.parents[function]:
            return False
        given.append(is_tensor(context, around, value.id) and stays(context, around, value.id))
    return bool(given) and all(given)
