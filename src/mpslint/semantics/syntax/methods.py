"""The methods that stand in the body of a class."""

from __future__ import annotations

import ast

from mpslint.semantics.syntax.index import FUNCTIONS, FunctionNode, Index


def methods_named(owner: ast.AST | None, name: str) -> list[FunctionNode]:
    """Those of a name: several for a property that can be set, and none of what is no class."""
    body = owner.body if isinstance(owner, ast.ClassDef) else ()
    return [item for item in body if isinstance(item, FUNCTIONS) and item.name == name]


def method_of(owner: ast.AST | None, name: str) -> FunctionNode | None:
    """The first one of a name."""
    return next(iter(methods_named(owner, name)), None)


def only_method_of_self(index: Index, called: ast.expr) -> FunctionNode | None:
    """What `self.name` is, where the class around has one method of that name."""
    if not isinstance(called, ast.Attribute) or not isinstance(called.value, ast.Name):
        return None
    if called.value.id != "self":
        return None
    found = methods_named(index.enclosing(called, ast.ClassDef), called.attr)
    return found[0] if len(found) == 1 else None
