"""What all calls of a function give one of its parameters, where the function is private to its
file: its name begins with an underscore (PEP 8), and the file does no more with it than call it."""

from __future__ import annotations

import ast

from mpslint.semantics.names.names import Names
from mpslint.semantics.syntax.index import FunctionNode, Index
from mpslint.semantics.syntax.parameters import positional_parameters

_OF_CLASSES = {"staticmethod", "classmethod"}
_MOST_CALLS = 8


def given_by_all(index: Index, names: Names, parameter: ast.arg) -> list[ast.expr]:
    """What the calls give, each of which says it; empty: one does not, or may be out of sight."""
    function = index.function(parameter)
    if function is None or not function.name.startswith("_") or function.name.startswith("__"):
        return []
    owner = index.parents[function]
    method = isinstance(owner, ast.ClassDef)
    if not method and not isinstance(owner, ast.Module):
        return []
    marks = {mark.id if isinstance(mark, ast.Name) else "" for mark in function.decorator_list}
    if not marks <= (_OF_CLASSES if method else set()):
        return []
    positional = positional_parameters(function.args)
    bound = method and "staticmethod" not in marks
    place = positional.index(parameter) - bound if parameter in positional else None
    if place is not None and place < 0:
        return []  # The object itself.
    uses = _uses(index, names, function, method=method)
    given = [_given(index, use, parameter.arg, place) for use in uses]
    found = [item for item in given if item is not None]
    if not found or not len(found) == len(given) <= _MOST_CALLS:
        return []
    return [] if _is_named_by_text(index, function.name) else found


def _is_named_by_text(index: Index, name: str) -> bool:
    return any(text.value == name for text in index.strings)


def _uses(index: Index, names: Names, function: FunctionNode, *, method: bool) -> list[ast.expr]:
    """Where the file has a function, be it by a name that is another's in truth."""
    if method:
        uses = index.attributes.get(function.name, ())
        namesakes = [item for item in index.functions() if uses and item.name == function.name]
        return [*uses] if len(namesakes) == 1 else []
    if len(names.module.bindings.get(function.name, ())) != 1:
        return []
    return [*index.names.get(function.name, ())]


def _given(index: Index, use: ast.expr, name: str, place: int | None) -> ast.expr | None:
    call = index.parents[use]
    if not isinstance(call, ast.Call) or call.func is not use:
        return None
    if any(isinstance(item, ast.Starred) for item in call.args):
        return None
    for item in call.keywords:
        if item.arg in (name, None):
            return item.value if item.arg == name else None
    return call.args[place] if place is not None and 0 <= place < len(call.args) else None
