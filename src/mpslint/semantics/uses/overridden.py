"""Methods of a base class that run on no object: nobody makes one of that class itself, and all
classes that are derived from it have their own, which do not ask for the base's."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.syntax.index import FUNCTIONS, FunctionNode
from mpslint.semantics.syntax.methods import method_of
from mpslint.semantics.uses.defined import definitions_around

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_ABSTRACT = "abc.abstractmethod"
_PLAIN = ("dataclass", "total_ordering", "final")
"""Decorators of Python's that hand a class to nobody."""
_BY_CLASS = ("staticmethod", "classmethod")
"""Methods that need no object."""


def is_overridden(context: Context, row: int) -> bool:
    """Whether a line stands in such a method."""
    if context.elsewhere is None:
        return False
    for node, owner in definitions_around(context, row):
        if owner is None or not isinstance(node, FUNCTIONS) or _is_of_class(node):
            continue
        if not all(map(_keeps_nothing, owner.decorator_list)):
            continue  # `@register("net")`: whoever asks for that name makes one.
        own = [item for item in context.index.attributes.get(node.name, ()) if _is_super(item)]
        if any(context.index.enclosing(item, ast.ClassDef) is not owner for item in own):
            continue  # A class of the same file may ask for this one.
        if context.elsewhere.is_overridden(
            context.source.path, owner.name, node.name, is_made=not is_abstract(context, owner)
        ):
            return True
    return False


def is_abstract(context: Context, owner: ast.ClassDef) -> bool:
    """Whether Python makes no object of a class: it leaves a method to those derived from it."""
    bases = [context.resolve(base) for base in owner.bases]
    metaclasses = [context.resolve(item.value) for item in owner.keywords if item.arg]
    if "abc.ABC" not in bases and "abc.ABCMeta" not in metaclasses:
        return False
    return any(
        context.resolve(decorator) == _ABSTRACT
        for item in owner.body
        if isinstance(item, FUNCTIONS)
        for decorator in item.decorator_list
    )


def replaces(context: Context, derived: ast.ClassDef, base: str, method: str) -> bool:
    """Whether a class has its own `method`, and neither that nor anything else of its file asks for
    the one of its `base`."""
    if method_of(derived, method) is None:
        return False
    return not any(
        _is_super(item) or _is_named(item, base)
        for item in context.index.attributes.get(method, ())
    )


def _keeps_nothing(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return last_name(called) in _PLAIN


def _is_of_class(node: FunctionNode) -> bool:
    return any(isinstance(item, ast.Name) and item.id in _BY_CLASS for item in node.decorator_list)


def _is_super(use: ast.Attribute) -> bool:
    """`super().__init__`"""
    value = use.value
    return (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Name)
        and value.func.id == "super"
    )


def _is_named(use: ast.Attribute, base: str) -> bool:
    """`Base.__init__`, `base.Base.__init__`"""
    value = use.value
    name = last_name(value)
    return name == base
