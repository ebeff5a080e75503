"""What comes before what, and what may be passed by, by where it stands."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.expressions import is_main_block
from mpslint.semantics.syntax.index import FUNCTIONS, LOOPS

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.syntax.index import Index


def precedes(context: Context, step: ast.Call, call: ast.Call) -> bool:
    """Whether one call stands before another, and not in the other arm of a test."""
    return step.lineno < call.lineno and not any(
        _in_body(context, parent, step) != _in_body(context, parent, call)
        for parent in context.index.ancestors(step)
        if isinstance(parent, ast.If) and context.index.within(call, parent)
    )


def _in_body(context: Context, test: ast.If, node: ast.AST) -> bool:
    return any(context.index.within(node, statement) for statement in test.body)


def may_be_passed_by(index: Index, node: ast.AST) -> bool:
    """Whether some way through the function around, or through the program, passes `node` by."""
    for parent in index.ancestors(node):
        if isinstance(parent, (*FUNCTIONS, ast.ClassDef)):
            return False
        if isinstance(parent, ast.If | ast.For | ast.While | ast.Try | ast.Match):
            return not is_main_block(parent)
    return False


def following(index: Index, node: ast.AST) -> Iterator[ast.stmt]:
    """The statements that run after a node, up to the end of its function or turn."""
    statement = index.statement(node)
    while True:
        block = index.block(statement)
        yield from block[block.index(statement) + 1 :]
        parent = index.parents[statement]
        if isinstance(parent, (ast.Module, ast.ClassDef, *FUNCTIONS, *LOOPS)):
            return
        while not isinstance(parent, ast.stmt):
            parent = index.parents[parent]
        statement = parent
