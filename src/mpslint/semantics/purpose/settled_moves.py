"""What has settled that a move to CUDA is none on a Mac: a test, or somebody who has tried it.

An `except` around many lines is there for what goes wrong in them. It settles nothing of the moves
among them: those around it are made portable, and these have to go along.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.purpose.caught_errors import is_caught
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.terms.facts_known import CUDA_SETTLED, Facts
from mpslint.semantics.worlds.errors import kinds_of, may_catch

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_RAISED = "AssertionError"
"""What `.cuda()` raises without CUDA: "Torch not compiled with CUDA enabled"."""


def settled(context: Context, node: ast.AST) -> Facts:
    """The facts under which a move at `node` does not run on a Mac, or was tried."""
    facts = context.guards.at(node) & CUDA_SETTLED
    if "caught" in facts and not _is_tried(context, node):
        return facts - {"caught"}
    return facts


def _is_tried(context: Context, node: ast.AST) -> bool:
    if is_caught(context, node, _RAISED):
        return True
    child = node
    for parent in context.index.ancestors(node):
        if isinstance(parent, (*FUNCTIONS, ast.Lambda)):
            break
        if isinstance(parent, ast.With | ast.AsyncWith) and isinstance(child, ast.stmt):
            if context.guards.catches(parent):
                return True  # It is expected to fail.
        elif isinstance(parent, ast.Try) and child in parent.body:
            for handler in parent.handlers:
                if may_catch(kinds_of(handler.type), _RAISED) and _finds_out(parent, handler):
                    return True
        child = parent
    return False


def _finds_out(node: ast.Try, handler: ast.ExceptHandler) -> bool:
    """Whether a trial keeps how it ended, or does something else in place of what it tried."""
    for statement in (*node.body, *node.orelse):
        if isinstance(statement, ast.Assign) and _is_flag(statement.value):
            return True
        if isinstance(statement, ast.Return) and _is_flag(statement.value):
            return True
    return any(
        (isinstance(item, ast.Assign | ast.Return) and _is_flag(item.value))
        or (isinstance(item, ast.Attribute) and item.attr in ("cpu", "to", "cuda", "device"))
        or (isinstance(item, ast.Constant) and item.value in ("cpu", "mps", "cuda"))
        for statement in handler.body
        for item in ast.walk(statement)
    )


def _is_flag(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Constant) and (value.value is None or value.value in (True, False))
