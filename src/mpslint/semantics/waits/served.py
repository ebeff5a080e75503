"""Functions that a server or an interface runs again and again: for each request, each click."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.index import FUNCTIONS, FunctionNode

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_DEPTH = 3
"""So far one that answers is asked who calls whom: a handler, the worker's method, its helper."""
# Fact: gradio runs what its components' events are given, each time (`gradio/events.py`).
_PACKAGE = "gradio"
_EVENTS = frozenset(
    {"click", "submit", "change", "input", "select", "load", "upload", "clear", "blur", "release"}
    | {"stream", "tick", "edit", "like", "then", "success"}
)
_GIVEN = "fn"
"""The argument that takes the function, of events and of `gr.Interface` alike."""


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
        if isinstance(call.func, ast.Name) or _is_method(context, function)
    )
    return any(
        isinstance(caller, FUNCTIONS)
        and caller is not function
        and _answers(context, caller, depth - 1)
        for caller in around
    )


def _is_method(context: Context, function: FunctionNode) -> bool:
    return isinstance(context.index.parents[function], ast.ClassDef)


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
    """`button.click(predict, ...)`, `gr.Interface(predict, ...)`, `dict(fn=predict)`"""
    if not context.names.imports(_PACKAGE):
        return False
    return any(
        (isinstance(around, ast.keyword) and around.arg == _GIVEN)
        or (isinstance(around, ast.Call) and use in around.args and _runs_it(context, around))
        for use in context.index.names.get(function.name, ())
        if (around := context.index.parents[use]) is not None
    )


def _runs_it(context: Context, call: ast.Call) -> bool:
    """Whether a call is an event of gradio's, or makes one of its interfaces."""
    if (context.resolve(call.func) or "").startswith(f"{_PACKAGE}."):
        return True
    return isinstance(call.func, ast.Attribute) and call.func.attr in _EVENTS
