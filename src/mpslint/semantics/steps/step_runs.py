"""Runs of steps: what a turn reads with no device work between, so that only the first waits."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.steps.steps import Step
from mpslint.semantics.worlds.machines import MACS

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_KEEPING = ("append", "update", "add")
"""Methods of lists and meters that keep what they are given."""


def first_of_runs(context: Context, steps: list[Step]) -> Iterator[list[Step]]:
    """Steps in source order, those with no device work between them together.

    Only the first of these has to wait; the others find the queue empty. No Mac waits in a loop
    that it never comes to.
    """
    group: list[Step] = []
    for step in sorted(steps, key=lambda s: (s.node.lineno, s.node.col_offset)):
        if not context.worlds.reach(step.node) & MACS:
            continue
        if group and not any(follows(context, before, step) for before in group):
            yield group
            group = []
        group.append(step)
    if group:
        yield group


def joined_by_tables(context: Context, runs: Iterable[list[Step]]) -> Iterator[list[Step]]:
    """Runs of one turn whose reads all go into one table, together: `metrics["flat"] +=
    flat.item()`, and further down `metrics["pod"] += pod.item()`. One change mends them all, a
    table that holds tensors."""
    joined: dict[tuple[ast.AST, str], list[Step]] = {}
    others: list[list[Step]] = []
    for run in runs:
        tables = {_table(context, step.node) for step in run}
        table = tables.pop() if len(tables) == 1 else None
        if table is None:
            others.append(run)
        else:
            joined.setdefault((run[0].turns, table), []).extend(run)
    yield from sorted(
        [*others, *joined.values()], key=lambda run: (run[0].node.lineno, run[0].node.col_offset)
    )


def _table(context: Context, node: ast.AST) -> str | None:
    """`self.metrics` of `self.metrics["flat"] += node` and of `self.metrics["flat"].append(node)`,
    as it is spelled; None: what is read goes elsewhere."""
    statement = context.index.statement(node)
    target: ast.AST | None = None
    if isinstance(statement, ast.AugAssign):
        target = statement.target
    elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        function = statement.value.func
        kept = isinstance(function, ast.Attribute) and function.attr in _KEEPING
        target = function.value if kept else None  # type: ignore[attr-defined]
    if not isinstance(target, ast.Subscript) or context.index.within(node, target):
        return None
    return ast.unparse(target.value)


def most_in_one_turn(context: Context, steps: list[Step]) -> int:
    """How many of these steps one turn can run: those of the one arm of `a if test else b`, or
    those of the other."""
    fewer, seen = 0, set()
    for step in steps:
        for parent in context.index.ancestors(step.node):
            if isinstance(parent, ast.stmt):
                break
            if isinstance(parent, ast.IfExp) and parent not in seen:
                seen.add(parent)
                fewer += min(
                    sum(context.index.within(item.node, arm) for item in steps)
                    for arm in (parent.body, parent.orelse)
                )
    return len(steps) - fewer


def follows(context: Context, first: Step, second: Step) -> bool:
    """Whether `second` stands behind `first` in the same block, or in an arm or below a `with` that
    stands there, with no device work between."""
    index = context.index
    one, other = index.statement(first.node), index.statement(second.node)
    if one is other:
        return True
    block = index.block(one)
    if first.turns is not second.turns:
        return False
    while other not in block:
        around = index.parents[other]
        if isinstance(around, ast.If):
            asked = [around.test]
        elif isinstance(around, ast.With):
            asked = [item.context_expr for item in around.items]
        else:
            return False
        inner = index.block(other)
        if any(context.loops.works(item) for item in (*asked, *inner[: inner.index(other)])):
            return False
        other = around
    between = block[block.index(one) + 1 : block.index(other)]
    return not any(context.loops.works(item) for item in between)
