"""Copies that are put away as they are, into a list or a sum, for after the loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.reads.batch_outputs import whole
from mpslint.semantics.reads.gathering import is_of_memory, is_summed
from mpslint.semantics.steps.steps import Step
from mpslint.semantics.syntax.index import FUNCTIONS

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


def is_added_up(context: Context, node: ast.expr) -> bool:
    """`correct += hits.cpu().sum()`: a number, as `hits.sum().item()` is one, and no list that is
    lengthened."""
    statement = context.index.statement(node)
    return (
        is_summed(context, whole(context, node))
        and isinstance(statement, ast.AugAssign)
        and not any(
            isinstance(parent, ast.List | ast.Tuple)
            for parent in context.index.ancestors(node)
            if context.index.within(parent, statement)
        )
    )


def is_put_away(context: Context, step: Step) -> bool:
    """Whether a copy goes into a list as it is (`features.append(output.cpu().numpy())`), or into
    what a method hands back."""
    if isinstance(step.turns, FUNCTIONS):
        return True
    copy = whole(context, step.node)
    parent = context.index.parents[copy]
    if isinstance(parent, ast.Assign) and parent.value is copy:
        uses = list(uses_of(context, parent))
        return bool(uses) and all(_goes_into_list(context, use) for use in uses)
    return _goes_into_list(context, copy)


def uses_of(context: Context, statement: ast.Assign) -> Iterator[ast.Name]:
    """Where the one name is read that `statement` gives a value."""
    target = statement.targets[0]
    if len(statement.targets) == 1 and isinstance(target, ast.Name):
        for use in context.index.names.get(target.id, ()):
            if isinstance(use.ctx, ast.Load) and any(
                binding.node is statement for binding in context.flow.reaching(use)
            ):
                yield use


def _goes_into_list(context: Context, node: ast.expr) -> bool:
    """`features.append(output)`"""
    parent = context.index.parents[node]
    return (
        isinstance(parent, ast.Call)
        and isinstance(parent.func, ast.Attribute)
        and parent.func.attr in ("append", "extend")
        and is_of_memory(context, parent.func.value)
    )
