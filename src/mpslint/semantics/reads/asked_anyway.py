"""Reads of a number that the same turn asks for anyway, to decide what comes next.

`bar.set_description(f"{loss.item()}")` beside `if loss < best: best = loss` waits no more than the
test does, which nobody can do without.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.steps.step_runs import follows
from mpslint.semantics.steps.steps import Step, is_device_tensor

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_SAME_NUMBER = frozenset({"detach", "data"})


def is_asked_anyway(context: Context, read: Step) -> bool:
    """Whether a test at every turn compares the tensor of `read`, with no device work between the
    two, and sets or ends something by what it finds."""
    tensor = ast.unparse(_plain(read.tensor))
    for branch in context.index.of(ast.If):
        if not context.index.within(branch, read.turns) or not _decides(branch):
            continue
        test = branch.test
        if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], _ORDERS):
            continue
        for side in (test.left, *test.comparators):
            if ast.unparse(_plain(side)) != tensor or not is_device_tensor(context, side):
                continue
            asked = Step(side, side, read.turns)
            first, second = sorted((read, asked), key=lambda step: step.node.lineno)
            if context.loops.every_step(test, read.turns) and follows(context, first, second):
                return True
    return False


def _plain(tensor: ast.expr) -> ast.expr:
    """`loss` of `loss.detach()` and of `loss.data`."""
    while True:
        if isinstance(tensor, ast.Call) and not tensor.args and not tensor.keywords:
            if not isinstance(tensor.func, ast.Attribute) or tensor.func.attr not in _SAME_NUMBER:
                return tensor
            tensor = tensor.func
        if not isinstance(tensor, ast.Attribute) or tensor.attr not in _SAME_NUMBER:
            return tensor
        tensor = tensor.value


def _decides(branch: ast.If) -> bool:
    return any(
        isinstance(item, ast.Assign | ast.AugAssign | ast.Break | ast.Continue | ast.Return)
        for item in branch.body
    )
