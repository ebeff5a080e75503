"""Results as large as the data says, made at each turn of a loop that every forward pass runs.

`for b in range(len(mask)): torch.nonzero(mask[b])` waits once for each part of the batch, where
one call for all of it would wait once. Where the turn reads a number besides, that is told.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.packages.consumers import reads
from mpslint.semantics.purpose.test_code import only_tests_run
from mpslint.semantics.reads.masks import is_mask
from mpslint.semantics.reads.number_reads import read_tensor
from mpslint.semantics.steps.steps import Step
from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.values.sized_by_data import ALWAYS, SOMETIMES, is_sized_by_data, operand

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.loops.loops import Loop

_NAMES_FOLLOWED = 2
_KEEPING = frozenset({"append", "extend", "len"})


def sized_in_forward(context: Context) -> Iterator[tuple[Loop, list[Step]]]:
    """What the turns of such a loop make, for each of the loops."""
    if b"forward" not in context.source.data and context.imported is None:
        return
    found: dict[Loop, list[Step]] = {}
    for node, tensor in _sized(context):
        around = context.passes.loop(node)
        if around is None:
            continue
        loop, function = around
        if not _is_of_torch(context, node) and not context.passes.is_tensor(tensor, function):
            continue
        if not context.passes.is_read_back(tensor, loop, function):
            continue
        if not context.passes.runs(function) or only_tests_run(context, node):
            continue
        found.setdefault(loop, []).append(Step(node, tensor, function))
    for loop, steps in found.items():
        if not _reads_numbers(context, loop):
            yield loop, sorted(steps, key=lambda one: (one.node.lineno, one.node.col_offset))


def _sized(context: Context) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What may be so large, with the tensor that it is about."""
    for name in (*ALWAYS, *SOMETIMES):
        for call in context.index.calls.get(name, ()):
            tensor = operand(context.names, call)
            if tensor is not None and is_sized_by_data(context.names, context.values, call):
                yield call, tensor
    for read in context.index.of(ast.Subscript):
        if not isinstance(read.ctx, ast.Load) or isinstance(read.slice, ast.Constant | ast.Tuple):
            continue
        if context.passes.loop(read) is not None and is_mask(context, read.slice, _NAMES_FOLLOWED):
            if not _is_handed_on(context, read):
                yield read, read.slice


def _is_handed_on(context: Context, read: ast.Subscript) -> bool:
    """Whether the turn hands what this mask selects to somebody who may need just that and wait
    himself (`nms(boxes[sure], scores[sure])`)."""
    loop, mask = context.loops.innermost(read), ast.dump(read.slice)
    return any(
        _goes_to_somebody(context, use)
        for other in context.index.of(ast.Subscript)
        if ast.dump(other.slice) == mask and context.loops.innermost(other) is loop
        for use in (other, *_named(context, other))
    )


def _named(context: Context, selected: ast.Subscript) -> Iterator[ast.expr]:
    """Where the name is read that is given what a mask selects."""
    given = context.index.parents[selected]
    if isinstance(given, ast.Assign) and given.value is selected and len(given.targets) == 1:
        yield from reads(context, given.targets[0])


def _goes_to_somebody(context: Context, node: ast.expr) -> bool:
    """Whether a function gets it that is none of torch's, and no list that keeps it."""
    call = context.index.parents[node]
    if not isinstance(call, ast.Call) or node not in call.args:
        return False
    if last_name(call.func) in _KEEPING:
        return False
    return not (context.resolve(call.func) or "").startswith("torch.")


def _is_of_torch(context: Context, node: ast.expr) -> bool:
    """`torch.nonzero(mask)`: torch's functions take nothing but tensors."""
    return isinstance(node, ast.Call) and (context.resolve(node.func) or "").startswith("torch.")


def _reads_numbers(context: Context, loop: Loop) -> bool:
    """Whether a turn of the loop reads a number by itself, and so waits in any case."""
    return any(
        context.loops.innermost(call) is loop and read_tensor(call) is not None
        for call in context.index.calls.get("item", ())
    )
