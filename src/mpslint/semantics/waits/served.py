"""Functions that a server or an interface runs again and again: for each request, each click."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.index import FUNCTIONS, FunctionNode

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_DEPTH = 3
"""So far one that answers is asked who calls whom: a handler, the worker's method, its helper."""
# Fact: gradio runs what its components are given at each event (`gradio/events.py`).
_INTERFACES = ("gradio",)


def is_served(context: Context, node: ast.AST) -> bool:
    """Whether the function around is run for each request, or is called by one that is."""
    function = context.index.enclosing(node, *FUNCTIONS)
    return isinstance(function, FUNCTIONS) and _answers(context, function, _DEPTH)


def _answers(context: Context, function: FunctionNode, depth: int) -> bool:
    if any(map(_is_route, function.decorator_list)) or _is_handed_to_interface(context, function):
        return True
    if not depth:
        return False
    around = (
        context.index.enclosing(call, *FUNCTIONS)
        for call in context.index.calls.get(function.name, ())
    )
    return any(
        isinstance(caller, FUNCTIONS)
        and caller is not function
        and _answers(context, caller, depth - 1)
        for caller in around
    )


def _is_route(decorator: ast.expr) -> bool:
    """`@app.post("/generate")`: what a path of the server leads to."""
    if not isinstance(decorator, ast.Call) or not isinstance(decorator.func, ast.Attribute):
        return False
    first = decorator.args[0] if decorator.args else None
    return (
        isinstance(first, ast.Constant)
        and isinstance(first.value, str)
        and first.value.startswith("/")
    )


def _is_handed_to_interface(context: Context, function: FunctionNode) -> bool:
    """`button.click(predict, ...)`, `gr.Interface(fn=predict)`, `dict(fn=predict)`"""
    if not any(map(context.names.imports, _INTERFACES)):
        return False
    uses = (context.index.parents[use] for use in context.index.names.get(function.name, ()))
    return any(
        isinstance(use, ast.keyword)
        or (isinstance(use, ast.Call) and _is_given(use, function.name))
        for use in uses
    )


def _is_given(call: ast.Call, name: str) -> bool:
    return isinstance(call.func, ast.Attribute) and any(
        isinstance(given, ast.Name) and given.id == name for given in call.args
    )
