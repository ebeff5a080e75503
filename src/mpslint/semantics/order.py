"""What comes before what, by where it stands."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


def precedes(context: Context, step: ast.Call, call: ast.Call) -> bool:
    """Whether one call stands before another, and not in the other arm of a test."""
    return step.lineno < call.lineno and not any(
        _in_body(context, parent, step) != _in_body(context, parent, call)
        for parent in context.index.ancestors(step)
        if isinstance(parent, ast.If) and context.index.within(call, parent)
    )


def _in_body(context: Context, test: ast.If, node: ast.AST) -> bool:
    return any(context.index.within(node, statement) for statement in test.body)
