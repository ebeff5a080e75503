"""Runs of steps: what a turn reads with no device work between, so that only the first waits."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.steps.steps import Step
from mpslint.semantics.worlds.machines import MACS

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


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
