"""The steps of a training loop: what runs at each of them, and which tensors are on a device."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from mpslint.semantics.loops import Loop, LoopKind
from mpslint.semantics.value import Kind

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


class Step(NamedTuple):
    """A node that runs at every turn of a loop."""

    node: ast.expr
    tensor: ast.expr
    """The tensor it is about (`node` itself, where it makes one)."""
    loop: Loop


TRAINING_WORDS = (
    (b"backward", b".step"),
    (b"device", b".cuda", b".to(", b"set_default_tensor_type"),
)
"""What stands in every file of which `trains_on_device` and `training_loop` hold: one word of
each group, as `Loops` and `Placement.file_uses_devices` look for them."""


def trains_on_device(context: Context) -> bool:
    """Whether this file can hold a training loop on a device at all: cheap, to be asked first."""
    calls = context.index.calls
    if "backward" not in calls and "step" not in calls:
        return False
    return context.placement.file_uses_devices


def training_loop(context: Context, node: ast.AST) -> Loop | None:
    """The training loop whose every turn runs `node`; None where it runs rarely, or not in one.

    Loops that wait for the device on purpose at each turn do not count.
    """
    loop = context.loops.innermost(node)
    if loop is None or context.loops.kind(loop) is not LoopKind.TRAIN:
        return None
    if not context.loops.every_step(node, loop) or context.loops.waits_anyway(loop):
        return None
    return loop


def is_device_tensor(context: Context, node: ast.expr) -> bool:
    """Whether `node` is a tensor that kernels of a device fill."""
    value = context.values.of(node)
    if value.kind is not Kind.TENSOR or not (value.computed or value.loss):
        return False
    if value.devices is None:
        return context.placement.file_uses_devices and not context.guards.has(node, "cpu")
    return context.placement.on_accelerator(node)


def first_of_runs(context: Context, steps: list[Step]) -> Iterator[list[Step]]:
    """Steps in source order, those with no device work between them together.

    Only the first of these has to wait; the others find the queue empty.
    """
    group: list[Step] = []
    for step in sorted(steps, key=lambda s: (s.node.lineno, s.node.col_offset)):
        if group and not follows(context, group[-1], step):
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
    """Whether `second` stands behind `first` in the same block, with no device work between."""
    index = context.index
    one, other = index.statement(first.node), index.statement(second.node)
    if one is other:
        return True
    block = index.block(one)
    if first.loop is not second.loop or other not in block:
        return False
    between = block[block.index(one) + 1 : block.index(other)]
    return not any(context.loops.works(item) for item in between)
