"""What a class keeps as attributes of its objects, and who sets them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


def stored(context: Context, own: ast.Attribute) -> Iterator[ast.expr]:
    """What the class around stores by assignments under the name of `self.x`."""
    for use in _stores(context, own):
        statement = context.index.parents[use]
        if isinstance(statement, ast.Assign):
            yield statement.value


def is_stored_outside_init(context: Context, own: ast.Attribute) -> bool:
    """Whether a method besides `__init__` stores the attribute as well, so that it may be another
    one at each call."""
    functions = map(context.index.function, _stores(context, own))
    return any(function is not None and function.name != "__init__" for function in functions)


def _stores(context: Context, own: ast.Attribute) -> Iterator[ast.Attribute]:
    klass = context.index.enclosing(own, ast.ClassDef)
    if klass is None:
        return
    for use in context.index.attributes.get(own.attr, ()):
        if isinstance(use.ctx, ast.Store) and context.index.within(use, klass):
            yield use
