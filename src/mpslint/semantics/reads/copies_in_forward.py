"""Copies to the host that each forward pass makes: in its loops, one for each turn, and of the
module's own parameters and buffers, which could be copied where they change.

`for part in cost: assign(part.cpu())` waits once for each part of the batch, where one copy before
the loop would wait once. One copy outside loops is mostly for what works on the host alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.purpose.test_code import only_tests_run
from mpslint.semantics.reads.own_numbers import hangs_on_numbers, is_led_to, own_of
from mpslint.semantics.reads.part_copies import shows
from mpslint.semantics.steps.steps import Step
from mpslint.semantics.terms.value import Kind

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.loops.loops import Loop


def copies_in_loops(
    context: Context, calls: Iterable[ast.Call]
) -> Iterator[tuple[Loop, list[Step]]]:
    """Those of `calls` that the turns of a loop make, for each of the loops."""
    found: dict[Loop, list[Step]] = {}
    for call in calls:
        around = context.passes.loop(call)
        if around is None:
            continue
        loop, function = around
        tensor = call.func.value  # type: ignore[attr-defined]
        if not _is_copied(context, call, tensor) or hangs_on_numbers(context, call):
            continue
        if _decides(context, call) or shows(context, loop):
            continue
        if not context.passes.is_read_back(tensor, loop, function):
            continue
        if context.passes.runs(function) and not only_tests_run(context, call):
            found.setdefault(loop, []).append(Step(call, tensor, function))
    for loop, steps in found.items():
        yield loop, sorted(steps, key=lambda one: (one.node.lineno, one.node.col_offset))


def _is_copied(context: Context, call: ast.Call, tensor: ast.expr) -> bool:
    """Whether a tensor of the device is: `x.cpu().numpy()` says so itself, `rows.tolist()` does not
    and `model.cpu()` is another matter."""
    value = context.values.of(tensor)
    if value.on_cpu or value.kind not in (Kind.TENSOR, Kind.UNKNOWN):
        return False
    if value.kind is Kind.TENSOR and value.computed:
        return True
    after = context.index.parents[call]
    return isinstance(after, ast.Attribute) and after.attr in ("numpy", "tolist", "detach", "data")


def _decides(context: Context, call: ast.Call) -> bool:
    """`if words.cpu().numpy() == end: break`: a test asks for it, as the next turn hangs on it."""
    return any(
        isinstance(parent, ast.If | ast.While | ast.IfExp)
        and context.index.within(call, parent.test)
        for parent in context.index.ancestors(call)
    )


def own_copies(context: Context, calls: Iterable[ast.Call]) -> Iterator[Step]:
    """Those of `calls` that copy parameters or buffers of their module in each forward pass."""
    for call in calls:
        tensor = call.func.value  # type: ignore[attr-defined]
        if own_of(context, tensor) is None or hangs_on_numbers(context, call):
            continue
        function = context.passes.around(call)
        if function is not None and is_led_to(context, function):
            if not only_tests_run(context, call):
                yield Step(call, tensor, function)
