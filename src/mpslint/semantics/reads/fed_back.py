"""Values that go back to where the steps of training come from, which works on the host.

A buffer that draws batches by their errors asks for these after each step, before it draws the
next. Where its class works through them in Python or by NumPy, nobody can leave them on the device.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.expressions import names_in
from mpslint.semantics.syntax.index import FunctionNode, walk
from mpslint.semantics.syntax.methods import methods_named
from mpslint.semantics.syntax.parameters import positional_names

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_TAKING = ast.Attribute | ast.Call | ast.BinOp | ast.UnaryOp | ast.keyword


def is_fed_back(context: Context, value: ast.expr) -> bool:
    """Whether a value goes to a method of an object that gave something in the same function
    before, and whose class computes with it on the host."""
    return any(
        _gave_before(context, call, value) and _computes_on_host(context, call, place)
        for call, place in _takers(context, value)
    )


def _takers(context: Context, value: ast.expr) -> Iterator[tuple[ast.Call, int | str | None]]:
    """The calls of methods that get a value, or what is made of it, each with its place there."""
    statement = context.index.statement(value)
    if isinstance(statement, ast.Expr):
        found = _taker(context, value, statement)
        if found is not None:
            yield found
    elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        for use in context.index.names.get(statement.targets[0].id, ()):
            after = context.index.statement(use)
            if isinstance(after, ast.Expr) and any(
                binding.node is statement for binding in context.flow.reaching(use)
            ):
                found = _taker(context, use, after)
                if found is not None:
                    yield found


def _taker(
    context: Context, value: ast.expr, statement: ast.Expr
) -> tuple[ast.Call, int | str | None] | None:
    call = statement.value
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    child: ast.AST = value
    while (parent := context.index.parents[child]) is not call:
        if not isinstance(parent, _TAKING):
            return None
        child = parent
    if isinstance(child, ast.keyword):
        return call, child.arg
    return (call, call.args.index(child)) if child in call.args else None


def _gave_before(context: Context, call: ast.Call, value: ast.expr) -> bool:
    """Whether the object has given something in the same function, or the same program, above the
    value."""
    assert isinstance(call.func, ast.Attribute)
    function, giver = context.index.function(call), ast.dump(call.func.value)
    return any(
        isinstance(item, ast.Assign)
        and item.lineno < value.lineno
        and context.index.function(item) is function
        and isinstance(item.value, ast.Call)
        and isinstance(item.value.func, ast.Attribute)
        and ast.dump(item.value.func.value) == giver
        for item in walk(function or context.tree)
    )


def _computes_on_host(context: Context, call: ast.Call, place: int | str | None) -> bool:
    """Whether all methods that may be called work through the argument in Python, or by NumPy."""
    assert isinstance(call.func, ast.Attribute)
    methods = list(_methods(context, call.func.attr))
    return bool(methods) and all(
        _works_through(where, method, _parameter(method, place)) for where, method in methods
    )


def _methods(context: Context, name: str) -> Iterator[tuple[Context, FunctionNode]]:
    """The methods of this name of the classes that a file defines or imports."""
    found = [(context, item) for item in context.tree.body if isinstance(item, ast.ClassDef)]
    for _, binding in context.names.every_binding():
        if binding.kind == "import" and binding.qualified:
            definition = context.definition_elsewhere(binding.qualified)
            for one in definition.bindings if definition is not None else ():
                if definition is not None and isinstance(one.node, ast.ClassDef):
                    found.append((definition.context, one.node))
    for where, owner in found:
        for method in methods_named(owner, name):
            yield where, method


def _parameter(method: FunctionNode, place: int | str | None) -> str | None:
    if not isinstance(place, int):
        return place
    names = positional_names(method.args)[1:]
    return names[place] if place < len(names) else None


def _works_through(context: Context, method: FunctionNode, name: str | None) -> bool:
    """`for i, error in zip(indices, errors):`, `np.abs(errors)`"""
    if name is None:
        return False
    for item in walk(method):
        if isinstance(item, ast.For) and name in names_in(item.iter):
            return True
        if isinstance(item, ast.Call) and any(name in names_in(given) for given in item.args):
            if (context.resolve(item.func) or "").startswith("numpy."):
                return True
    return False
