"""Files in which a loop keeps the best that it has had so far.

`if loss < least: least = loss; torch.save(...)`, with `else: ... torch.load(...)`: who comes to the
other arm has been through the first one, since the first turn is the best so far.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.index import LOOPS

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


def keeps_the_best(context: Context, writer: ast.AST, reader: ast.AST) -> bool:
    """Whether `writer` stands in the arm of a loop's best turn, and `reader` in the other arm."""
    index = context.index
    parting = index.enclosing(reader, ast.If)
    while isinstance(parting, ast.If):
        if _is_in(context, writer, parting.body) and _is_in(context, reader, parting.orelse):
            loop = index.enclosing(parting, *LOOPS)
            same = loop is not None and index.function(loop) is index.function(parting)
            return same and _compares_with_what_it_sets(parting)
        parting = index.enclosing(parting, ast.If)
    return False


def _is_in(context: Context, node: ast.AST, block: list[ast.stmt]) -> bool:
    return any(context.index.within(node, statement) for statement in block)


def _compares_with_what_it_sets(parting: ast.If) -> bool:
    """`if loss < least:` above `least = loss`"""
    compared = {
        ast.unparse(side)
        for test in ast.walk(parting.test)
        if isinstance(test, ast.Compare)
        for side in (test.left, *test.comparators)
    }
    return any(
        ast.unparse(target) in compared
        for statement in parting.body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
    )
