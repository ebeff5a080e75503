"""Imports of a project's own CUDA kernels that a function makes when it is called."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from mpslint.semantics.syntax.cuda_arms import holds_word
from mpslint.semantics.syntax.index import FUNCTIONS, statements
from mpslint.semantics.worlds.machines import MACS

_CAUGHT = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})
# Fact: Python's grammar, where an import stands that is no line of its own at the top of a file.
_INSIDE = re.compile(rb"^[^\S\n]+(?:from|import)\b|[:;\\\r]\s*(?:from|import)\b", re.M)


def imports_inside(text: bytes) -> bool:
    """Whether functions of a file may import something."""
    return _INSIDE.search(text) is not None


def kernel_imports(
    tree: ast.Module, imports_on: Callable[[str], int]
) -> Iterator[ast.Import | ast.ImportFrom]:
    """Imports in functions that raise on each Mac (`imports_on` gives the worlds in which a module
    can be imported), with nothing around that asks for CUDA first or goes on without them."""
    for function in statements(tree):
        if isinstance(function, FUNCTIONS):
            for node in _certain(function.body):
                if any(not imports_on(module) & MACS for module in modules_of(node)):
                    yield node


def _certain(body: list[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports of a body, but for those below a test for CUDA and those it can do without."""
    for statement in body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            yield statement
        elif isinstance(statement, ast.If):
            if not any(map(holds_word, ast.walk(statement.test))):
                yield from _certain(statement.body)
                yield from _certain(statement.orelse)
        elif isinstance(statement, ast.Try):
            if not any(map(catches_failed_import, statement.handlers)):
                yield from _certain(statement.body)
            for handler in statement.handlers:
                yield from _certain(handler.body)
            yield from _certain(statement.orelse)
            yield from _certain(statement.finalbody)
        elif isinstance(statement, ast.With | ast.For | ast.While):
            yield from _certain(statement.body)


def modules_of(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return ["." * node.level + (node.module or "")]


def catches_failed_import(handler: ast.ExceptHandler) -> bool:
    """Whether a handler is for an import that fails, among others."""
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or getattr(kind, "id", "") in _CAUGHT for kind in kinds)


def insisted_imports(tree: ast.Module) -> Iterator[str]:
    """The modules that a file imports in a `try` of which no handler puts anything in their place,
    and one raises, if only in some cases."""
    for statement in tree.body:
        if not isinstance(statement, ast.Try):
            continue
        handlers = [handler for handler in statement.handlers if catches_failed_import(handler)]
        held = [node for handler in handlers for node in ast.walk(handler)]
        if any(isinstance(node, ast.Raise) for node in held) and not any(
            isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.Assign, ast.Import, ast.ImportFrom))
            for node in held
        ):
            for inner in statement.body:
                yield from imported_by(inner)


def imported_by(statement: ast.stmt) -> Iterator[str]:
    """The modules that a statement may import: what is taken from a package may be one of its
    modules."""
    if isinstance(statement, ast.Import):
        yield from (alias.name for alias in statement.names)
    elif isinstance(statement, ast.ImportFrom):
        module = "." * statement.level + (statement.module or "")
        dot = "" if module.endswith(".") else "."
        yield module
        yield from (f"{module}{dot}{alias.name}" for alias in statement.names)
