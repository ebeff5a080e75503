"""The tests in whose arms something stands, however they are written."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.syntax.index import FUNCTIONS

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


def tests_around(
    context: Context, node: ast.AST
) -> Iterator[tuple[ast.expr, bool, list[ast.stmt]]]:
    """Each test of an `if` around a node in its function, as it comes out there, with the arm;
    without `not`, and as what it is that a name was given."""
    child = node
    for parent in context.index.ancestors(node):
        if isinstance(parent, FUNCTIONS):
            return
        if isinstance(parent, ast.If) and child is not parent.test:
            outcome = child in parent.body
            arm = parent.body if outcome else parent.orelse
            test = parent.test
            for _ in range(2):
                while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
                    test, outcome = test.operand, not outcome
                if last_name(test) is not None:
                    test = context.guards.behind(test)
            yield test, outcome, arm
        child = parent
