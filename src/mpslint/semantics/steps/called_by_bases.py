"""Methods that a base class calls on itself: `loss = self.compute_loss(x, y)` in its loop.

What a class defines in place of them is a part of that loop, in whichever file either stands.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.index import FunctionNode

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_BASES = 3
"""A project's own base class, that one's base, and one more."""


def calls_by_bases(context: Context, function: FunctionNode) -> Iterator[tuple[Context, ast.Call]]:
    """The calls of a method of this name on `self` in the classes that its class inherits from,
    each with the file in which it stands."""
    klass = context.index.parents[function]
    if not isinstance(klass, ast.ClassDef) or function.name.startswith("__"):
        return
    for other, base in _bases(context, klass, _BASES):
        for use in other.index.attributes.get(function.name, ()):
            call = other.index.parents[use]
            if (
                isinstance(use.value, ast.Name)
                and use.value.id == "self"
                and isinstance(call, ast.Call)
                and call.func is use
                and other.index.within(use, base)
            ):
                yield other, call


def _bases(
    context: Context, klass: ast.ClassDef, depth: int
) -> Iterator[tuple[Context, ast.ClassDef]]:
    """The classes of the project that `klass` inherits from."""
    for base in klass.bases if depth else ():
        bindings = context.names.bindings(base.id, base) if isinstance(base, ast.Name) else []
        found = [
            (context, one.node)
            for one in bindings
            if isinstance(one.node, ast.ClassDef) and one.node is not klass
        ]
        name = context.resolve(base) if not found else None
        elsewhere = context.definition_elsewhere(name) if name is not None else None
        if elsewhere is not None and elsewhere.context is not None:
            found += [
                (elsewhere.context, one.node)
                for one in elsewhere.bindings
                if isinstance(one.node, ast.ClassDef)
            ]
        for other, node in found:
            yield other, node
            yield from _bases(other, node, depth - 1)
