"""Numbers that are printed once an epoch: where an epoch is one step on all of the data, a read at
each step is one for each line that somebody reads, and cannot be put off.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.facts.priors import matches
from mpslint.semantics.syntax.index import FUNCTIONS

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.steps.steps import Turns


def is_shown_each_epoch(context: Context, read: ast.expr, turns: Turns) -> bool:
    """Whether a number is printed as soon as it is read, at each epoch of one step."""
    return _is_epoch(context, turns) and _is_printed(context, read)


def _is_epoch(context: Context, turns: Turns) -> bool:
    """Whether a turn is one pass over the data: its number is that of the epoch."""
    if isinstance(turns, FUNCTIONS):
        return any(matches("epoch-counters", item.arg) for item in turns.args.args)
    return (
        isinstance(turns, ast.For)
        and isinstance(turns.target, ast.Name)
        and matches("epoch-counters", turns.target.id)
        and not context.loops.draws_batches(turns)
    )


def _is_printed(context: Context, read: ast.expr) -> bool:
    for parent in context.index.ancestors(read):
        if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name):
            if parent.func.id == "print":
                return isinstance(context.index.parents[parent], ast.Expr)
        if isinstance(parent, ast.stmt):
            return False
    return False
