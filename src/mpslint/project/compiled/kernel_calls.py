"""Calls of functions that end on a Mac with a NameError: what they call in their turn is imported
from a project's own kernels, with nothing put in its place where that fails.

`try: from .kernels import fast` with `except ImportError: use = slow` leaves `fast` without a value
where there are no kernels, and the function that calls it is for others than Macs.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.project.compiled.kernel_imports import catches_failed_import
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.worlds.machines import MACS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mpslint.semantics.context import Context
    from mpslint.semantics.names.names import Binding
    from mpslint.semantics.syntax.index import FunctionNode

_COMPOUND = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.Match, *FUNCTIONS, ast.ClassDef)


def missing_name(context: Context, call: ast.Call) -> str:
    """The name that the function which is called lacks on each Mac; empty: none is known."""
    found = _called(context, call)
    if found is None:
        return ""
    there, function = found
    for name in _names_called(function):
        bindings = there.names.module.bindings.get(name.id, [])
        owner = there.names.owner(name.id, name)
        if bindings and owner is there.names.module:
            if all(_fails_on_macs(context, there, binding) for binding in bindings):
                return name.id
    return ""


def _called(context: Context, call: ast.Call) -> tuple[Context, FunctionNode] | None:
    there: Context = context
    bindings: tuple[Binding, ...] = ()
    if isinstance(call.func, ast.Name):
        bindings = tuple(context.names.module.bindings.get(call.func.id, ()))
    if not any(isinstance(binding.node, FUNCTIONS) for binding in bindings):
        qualified = context.resolve(call.func)
        found = context.definition_elsewhere(qualified) if qualified else None
        if found is None:
            return None
        there, bindings = found.context, found.bindings
    node = bindings[0].node if len(bindings) == 1 else None
    return (there, node) if isinstance(node, FUNCTIONS) else None


def _names_called(function: FunctionNode) -> Iterator[ast.Name]:
    """What a function calls by a name each time that it runs."""
    for statement in function.body:
        if isinstance(statement, _COMPOUND):
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                yield node.func


def _fails_on_macs(context: Context, there: Context, binding: Binding) -> bool:
    """Whether a binding is an import that fails on each Mac, and is caught."""
    node = binding.node
    parent = there.index.parents.get(node)
    if not isinstance(node, ast.ImportFrom) or not isinstance(parent, ast.Try):
        return False
    if node not in parent.body or not any(map(catches_failed_import, parent.handlers)):
        return False
    module = "." * node.level + (node.module or "")
    elsewhere = context.elsewhere
    return elsewhere is not None and not elsewhere.imports_on(there.source.path, module) & MACS
