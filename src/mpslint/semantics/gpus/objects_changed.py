"""What a file does to the attributes of objects of a class: classes that are derived from it have
attributes of their own, and whoever made an object may set some."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.gpus.numbers_given import stores_of
from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.syntax.index import FUNCTIONS

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_KEY = "classes by what they are derived from"


def derived(context: Context, name: str) -> list[ast.ClassDef]:
    """The classes of a file that have a base of this name, by whatever path."""
    if _KEY not in context.memo:
        by_base: dict[str | None, list[ast.ClassDef]] = {}
        for one in context.index.of(ast.ClassDef):
            for base in one.bases:
                by_base.setdefault(last_name(base), []).append(one)
        context.memo[_KEY] = by_base
    known = context.memo[_KEY]
    assert isinstance(known, dict)
    found: list[ast.ClassDef] = known.get(name, [])
    return found


def defines(context: Context, klass: ast.ClassDef, attributes: frozenset[str]) -> bool:
    """Whether a class has one of these attributes in its body (a property), or sets one."""
    if any(klass in stores_of(context, name).by_class for name in attributes):
        return True
    for statement in klass.body:
        if isinstance(statement, FUNCTIONS) and statement.name in attributes:
            return True
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        targets = [statement.target] if isinstance(statement, ast.AnnAssign) else targets
        if any(isinstance(one, ast.Name) and one.id in attributes for one in targets):
            return True
    return False


def sets(context: Context, names: frozenset[str], attributes: frozenset[str]) -> bool:
    """Whether a file sets one of the attributes of what may be an object of a class of one of the
    names: of what a call of that gave, or of a parameter that says so."""
    return any(
        _may_be_object(context, use.value, names)
        for name in attributes
        for use in stores_of(context, name).others
    )


def _may_be_object(context: Context, value: ast.expr, names: frozenset[str]) -> bool:
    if isinstance(value, ast.Attribute):
        # Who keeps an object may be spelled in another way where that is made.
        kept = [one.value for one in _given_to(context, value.attr)]
        return any(_makes(one, names) for one in kept)
    if not isinstance(value, ast.Name):
        return _makes(value, names)
    for binding in context.names.bindings(value.id, value):
        if _makes(binding.value, names):
            return True
        annotation = binding.node.annotation if isinstance(binding.node, ast.arg) else None
        if annotation is not None and any(_is_named(one, names) for one in ast.walk(annotation)):
            return True
    return False


def _given_to(context: Context, attribute: str) -> list[ast.Assign]:
    uses = [one for found in stores_of(context, attribute).by_function.values() for one in found]
    statements = [context.index.parents[one] for one in uses]
    return [one for one in statements if isinstance(one, ast.Assign)]


def _makes(value: ast.expr | None, names: frozenset[str]) -> bool:
    """`Net(0)`, and also `Net(0).eval()` and `wrap(Net(0))`."""
    return value is not None and any(
        isinstance(one, ast.Call) and _is_named(one.func, names) for one in ast.walk(value)
    )


def _is_named(node: ast.AST, names: frozenset[str]) -> bool:
    if isinstance(node, ast.Constant):
        return node.value in names  # An annotation in quotes.
    return isinstance(node, ast.Name | ast.Attribute) and last_name(node) in names
