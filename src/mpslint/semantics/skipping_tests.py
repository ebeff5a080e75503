"""Classes of tests that are skipped without CUDA by what they inherit: what a decorator is told for
them (`@expand(device="cuda")`) is for no other machine."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.index import FUNCTIONS
from mpslint.semantics.value_syntax import last_name

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

# Fact: unittest's and pytest's fixtures of classes, and their ways to skip.
_FIXTURES = frozenset({"setUpClass", "setUp", "setup_class", "setup_method"})
_SKIPPING = frozenset({"SkipTest", "skipTest", "skip"})
_ASKED = "torch.cuda.is_available"
_WORD = b"SkipTest", b"skipTest", b"skip("
_BASES = 3


def is_for_skipped_tests(context: Context, node: ast.AST) -> bool:
    """Whether `node` is what a class of tests is decorated with that are skipped without CUDA."""
    child = node
    for parent in context.index.ancestors(node):
        if isinstance(parent, ast.ClassDef):
            return child in parent.decorator_list and _skips(context, parent, _BASES)
        if isinstance(parent, ast.stmt):
            return False
        child = parent
    return False


def _skips(context: Context, cls: ast.ClassDef, bases: int) -> bool:
    """Whether a class skips its tests where there is no CUDA, itself or by a base."""
    if any(_asks_and_skips(context, item) for item in cls.body):
        return True
    if not bases:
        return False
    for base in cls.bases:
        bindings = context.names.bindings(base.id, base) if isinstance(base, ast.Name) else []
        for binding in bindings:
            if isinstance(binding.node, ast.ClassDef) and binding.node is not cls:
                if _skips(context, binding.node, bases - 1):
                    return True
        name = context.resolve(base)
        found = context.definition_elsewhere(name, _WORD) if name is not None else None
        for other in found.bindings if found is not None else ():
            if isinstance(other.node, ast.ClassDef):
                if _skips(found.context, other.node, bases - 1):  # type: ignore[union-attr]
                    return True
    return False


def _asks_and_skips(context: Context, item: ast.stmt) -> bool:
    if not isinstance(item, FUNCTIONS) or item.name not in _FIXTURES:
        return False
    return any(
        isinstance(statement, ast.If)
        and _asks(context, statement.test)
        and any(_is_skip(inner) for inner in statement.body)
        for statement in item.body
    )


def _asks(context: Context, test: ast.expr) -> bool:
    """Whether a test holds where there is no CUDA, be it for those alone whose device is CUDA's."""
    if isinstance(test, ast.BoolOp):
        return any(_asks(context, part) for part in test.values)
    return (
        isinstance(test, ast.UnaryOp)
        and isinstance(test.op, ast.Not)
        and isinstance(test.operand, ast.Call)
        and context.resolve(test.operand.func) == _ASKED
    )


def _is_skip(statement: ast.stmt) -> bool:
    value = statement.exc if isinstance(statement, ast.Raise) else getattr(statement, "value", None)
    return isinstance(value, ast.Call) and last_name(value.func) in _SKIPPING
