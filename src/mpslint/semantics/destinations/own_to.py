"""Objects of the project's own classes whose `to` refuses a device that it does not name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.destinations.third_devices import unanswered
from mpslint.semantics.names.flow import leaves
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.sources.files import spoken_path

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_MOVES = ("cuda", "to")
_MOST = 3
"""So many bases of a class are asked."""


def refusing_to(context: Context) -> Iterator[tuple[ast.Call, str]]:
    """Calls of `cuda` and `to` that move an object of such a class, with what it says."""
    known: dict[str, str] = {}
    for name in _MOVES:
        for call in context.index.calls.get(name, ()):
            moved = call.func.value if isinstance(call.func, ast.Attribute) else None
            is_written_out = bool(call.args) and isinstance(call.args[0], ast.Constant)
            if not isinstance(moved, ast.Name) or (name == "to" and is_written_out):
                continue
            made = _class_of(context, moved)
            if made is None:
                continue
            key = ast.unparse(made)
            if key not in known:
                known[key] = _refusal(context, made, _MOST)
            if known[key]:
                yield call, f"`{key}.to` {known[key]}"


def _class_of(context: Context, name: ast.Name) -> ast.expr | None:
    """What is called to make all that a name stands for."""
    bindings = context.names.bindings(name.id, name)
    made = [one.value.func for one in bindings if isinstance(one.value, ast.Call)]
    if not made or len(made) != len(bindings) or len({ast.unparse(one) for one in made}) != 1:
        return None
    return made[0]


def _refusal(context: Context, made: ast.expr, depth: int) -> str:
    """What ends in the `to` of a class for a device that it does not name; empty: nothing."""
    found = _definition(context, made)
    if found is None:
        return ""
    around, cls = found
    for item in cls.body:
        if isinstance(item, FUNCTIONS) and item.name == "to":
            if not _is_plain(item):
                return ""
            inside = (one for one in unanswered(around) if around.index.within(one, item))
            ending = next((one for one in inside if isinstance(one, ast.Raise | ast.Assert)), None)
            if ending is None or around.index.function(ending) is not item:
                return ""
            path = spoken_path(around.source.path, around.settings.root)
            place = f"{path}, {around.line(ending)}"
            return f"fails for a device named mps ({place})"
    bases = (_refusal(around, base, depth - 1) for base in cls.bases) if depth else iter(())
    return next(filter(None, bases), "")


def _is_plain(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether nothing stands before its tests that would leave it."""
    return not leaves(function.body[:1]) and not function.decorator_list


def _definition(context: Context, made: ast.expr) -> tuple[Context, ast.ClassDef] | None:
    qualified = context.resolve(made)
    if isinstance(made, ast.Name):
        bindings = context.names.bindings(made.id, made)
        if len(bindings) == 1 and isinstance(bindings[0].node, ast.ClassDef):
            return context, bindings[0].node
    found = context.definition_elsewhere(qualified) if qualified else None
    if found is None or len(found.bindings) != 1:
        return None
    node = found.bindings[0].node
    return (found.context, node) if isinstance(node, ast.ClassDef) else None
