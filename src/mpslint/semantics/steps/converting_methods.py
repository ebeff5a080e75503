"""Methods of meters and loggers that make numbers of the tensors they are given.

`def update(self, **numbers)` with `if isinstance(number, torch.Tensor): number = number.item()`
says itself that tensors come to it. Whether steps of training bring them, and so wait each time,
their files say.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.syntax.index import FunctionNode
from mpslint.semantics.syntax.parameters import positional_names

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

OTHERS = "**"
"""Stands for what is given by names that are not written out: `update(**losses)`."""
_KNOWN = "converting-methods"
_ASKING = ("isinstance", "is_tensor", "type")


def converting_methods(context: Context) -> frozenset[FunctionNode]:
    """Those of the classes of the module."""
    known: frozenset[FunctionNode] | None
    known = context.memo.get(_KNOWN)  # type: ignore[assignment]
    if known is None:
        found = (_converting(context, call) for call in context.index.calls.get("item", ()))
        known = frozenset(function for function in found if function is not None)
        context.memo[_KNOWN] = known
    return known


def _converting(context: Context, read: ast.Call) -> FunctionNode | None:
    """The method that reads a number of `x` under a test whether that is a tensor."""
    index = context.index
    tensor = read.func.value if isinstance(read.func, ast.Attribute) else None
    function = index.function(read)
    if not isinstance(tensor, ast.Name) or function is None:
        return None
    klass = index.parents[function]
    if not isinstance(klass, ast.ClassDef) or klass not in context.tree.body:
        return None
    child: ast.AST = read
    for parent in index.ancestors(read):
        if parent is function:
            return None
        if isinstance(parent, ast.If | ast.IfExp) and _asks_for_tensor(parent.test, tensor.id):
            arm = parent.body if isinstance(parent.body, list) else [parent.body]
            return function if child in arm else None
        child = parent
    return None


def _asks_for_tensor(test: ast.expr, name: str) -> bool:
    """`isinstance(x, torch.Tensor)`, `torch.is_tensor(x)`, `type(x) is torch.Tensor`"""
    return any(
        isinstance(item, ast.Call)
        and last_name(item.func) in _ASKING
        and bool(item.args)
        and isinstance(item.args[0], ast.Name)
        and item.args[0].id == name
        and (last_name(item.func) == "is_tensor" or _names_tensor(test))
        for item in ast.walk(test)
    )


def _names_tensor(test: ast.expr) -> bool:
    names = (item for item in ast.walk(test) if isinstance(item, ast.Name | ast.Attribute))
    return any(last_name(item) == "Tensor" for item in names)


def takes(function: FunctionNode, call: ast.Call) -> bool:
    """Whether a method takes what a call gives, by number and by name."""
    arguments = function.args
    places = positional_names(arguments)[1:]
    named = {*places, *(item.arg for item in arguments.kwonlyargs)}
    if any(isinstance(item, ast.Starred) for item in call.args):
        return False
    if len(call.args) > len(places) and arguments.vararg is None:
        return False
    needed = places[: len(places) - len(arguments.defaults)]
    given = {*places[: len(call.args)], *(item.arg for item in call.keywords)}
    if not given.issuperset(needed) and None not in given:
        return False
    return arguments.kwarg is not None or all(
        item.arg is None or item.arg in named for item in call.keywords
    )


def names_its_own(function: FunctionNode, call: ast.Call) -> bool:
    """Whether a call gives a method something that only one of this signature takes: a place, or a
    parameter by its name. A dictionary's `update(loss=loss)` looks like that of a meter."""
    arguments = function.args
    named = {item.arg for item in (*arguments.args, *arguments.kwonlyargs)}
    return len(call.args) > 1 or any(item.arg in named for item in call.keywords)
