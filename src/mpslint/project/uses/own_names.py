"""Which mentions of a name in a file are of what that file has itself."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.methods import method_of
from mpslint.semantics.uses.known_bases import line

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


def read(context: Context, name: str) -> list[ast.Name]:
    return [use for use in context.index.names.get(name, ()) if isinstance(use.ctx, ast.Load)]


def is_of_own_class(
    context: Context,
    use: ast.Attribute,
    definer: Context | None,
    may_be_of_project: Callable[[Context, str], bool],
) -> bool:
    """Whether `self.name` is what the class around has under that name itself, in a file that
    nothing of the `definer` is derived from: it is not what that defines under the same name."""
    owner = context.index.enclosing(use, ast.ClassDef)
    if definer is None or not isinstance(owner, ast.ClassDef) or not _is_self(use.value):
        return False
    if not _has(context, owner, use.attr):
        return False
    here = context.source.path
    defined = {item.name for item in context.index.of(ast.ClassDef)}
    return not any(
        where.source.path == here
        or (klass is None and (base in defined or may_be_of_project(where, base)))
        for item in definer.index.of(ast.ClassDef)
        if _has(definer, item, use.attr)
        for where, klass, base in line(definer, item)
    )


def _has(context: Context, owner: ast.ClassDef, name: str) -> bool:
    """Whether a class has a method of this name, or puts something under it."""
    return method_of(owner, name) is not None or any(
        not isinstance(store.ctx, ast.Load)
        and _is_self(store.value)
        and context.index.enclosing(store, ast.ClassDef) is owner
        for store in context.index.attributes.get(name, ())
    )


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"
