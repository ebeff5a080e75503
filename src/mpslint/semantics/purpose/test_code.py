"""Code that only tests run: on the machines of a CI, with the devices that the tests name."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.purpose.test_files import lies_among_tests
from mpslint.semantics.syntax.index import FUNCTIONS, FunctionNode
from mpslint.semantics.syntax.paths import is_test
from mpslint.semantics.uses.unused import is_program

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_RUNNERS = ("pytest", "unittest", "torch.testing._internal")
_DEPTH = 6
"""So many helpers, one called by the other, stand between a test and what it does."""


def only_tests_run(context: Context, node: ast.AST) -> bool:
    """Whether `node` stands in a test of pytest's or unittest's, or in a function or class that, as
    far as the file shows, only such tests use; or in a module that serves tests."""
    if serves_tests(context) and context.index.enclosing(node, *FUNCTIONS, ast.ClassDef):
        return True
    if not any(context.names.imports(runner) for runner in _RUNNERS):
        return False
    return _is_of_tests(context, node, _DEPTH)


def serves_tests(context: Context) -> bool:
    """Whether a file lies among tests, and is neither one of them, of which each part is asked who
    uses it, nor a program that somebody starts by itself."""
    if is_test(context.source.path) or not lies_among_tests(context):
        return False
    return not is_program(context)


def _is_of_tests(context: Context, node: ast.AST, depth: int) -> bool:
    outer: FunctionNode | ast.ClassDef | None = None
    for parent in (node, *context.index.ancestors(node)):
        if isinstance(parent, (*FUNCTIONS, ast.ClassDef)):
            outer = parent
    if outer is None:
        return False
    if isinstance(outer, ast.ClassDef):
        if outer.name.startswith("Test") or any(
            (context.values.last_name(base) or "").endswith("TestCase") for base in outer.bases
        ):
            return True
    elif outer.name.startswith("test"):
        return True
    users = [
        use
        for use in context.index.names.get(outer.name, ())
        if isinstance(use.ctx, ast.Load) and not context.index.within(use, outer)
    ]
    return bool(users) and depth > 0 and all(_is_of_tests(context, u, depth - 1) for u in users)


def is_all_of_a_test(context: Context, node: ast.AST) -> bool:
    """Whether `node` stands in the one arm of a test that does anything at all: what keeps a
    machine out of the arm leaves the test with nothing to do, which passes."""
    function = context.index.function(node)
    if function is None or not only_tests_run(context, function):
        return False
    *before, last = function.body
    return (
        isinstance(last, ast.If)
        and all(map(_only_binds, before))
        and all(isinstance(item, ast.Pass) for item in last.orelse)
        and any(context.index.within(node, item) for item in last.body)
    )


def _only_binds(statement: ast.stmt) -> bool:
    """Whether a statement gives names values, be it by a choice, or is a docstring."""
    if isinstance(statement, ast.If):
        return all(map(_only_binds, (*statement.body, *statement.orelse)))
    return isinstance(statement, ast.Assign) or _is_docstring(statement)


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
