"""`torch.cuda.device_count()`: without CUDA the one device that there is counts."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.model import Applicability, Fix
from mpslint.patterns.text import replace
from mpslint.semantics.gpus.no_gpus import harm_of_none, sizes_batches, trains_on_none

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_COUNT = "torch.cuda.device_count"


def count_at_least_one(context: Context, call: ast.Call) -> Fix | None:
    """`max(1, torch.cuda.device_count())`; None where GPUs are gone through one by one."""
    level = count_level(context, call)
    if level is None:
        return None
    text = f"max(1, {context.source.segment(call)})"
    return Fix("Count at least one device", (replace(context.source, call, text),), level)


def count_level(context: Context, call: ast.Call) -> Applicability | None:
    """Safe where the count is only calculated with; unsafe where it is handed on (to `spawn`), or
    where the program counts once more for something of the kind, to which an error would move."""
    level = _own_level(context, call)
    if level is not Applicability.SAFE:
        return level
    function = context.index.function(call)
    for other in context.calls_of(_COUNT):
        if other is not call and context.index.function(other) is function:
            harmful = harm_of_none(context, other) is not None or trains_on_none(context, other)
            if harmful and _own_level(context, other) is not Applicability.SAFE:
                return Applicability.UNSAFE
    return level


def _own_level(context: Context, call: ast.Call) -> Applicability | None:
    uses = _uses(context, call)
    if uses is None or any(name == "max" for name, _ in context.names.every_binding()):
        return None
    if any(_goes_through(context, use) or _names_device(context, use) for use in uses):
        return None
    calculated = all(
        isinstance(context.index.parents[use], ast.BinOp | ast.AugAssign)
        or sizes_batches(context, use)
        or _asks_for_several(context, use)
        for use in uses
    )
    return Applicability.SAFE if calculated else Applicability.UNSAFE


def _uses(context: Context, call: ast.Call) -> list[ast.expr] | None:
    """Where the count is read: the call itself, or the name that it is assigned to."""
    statement = context.index.parents[call]
    if isinstance(statement, ast.IfExp | ast.BoolOp):
        return None
    if not isinstance(statement, ast.Assign):
        return [call]
    if len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Attribute):
        return _reads(context, statement.targets[0]) or [call]
    if len(statement.targets) != 1 or not isinstance(statement.targets[0], ast.Name):
        return None
    target = statement.targets[0]
    owner = context.names.owner(target.id, target)
    return [
        use
        for use in context.index.names[target.id]
        if isinstance(use.ctx, ast.Load) and context.names.owner(use.id, use) is owner
    ]


def _asks_for_several(context: Context, use: ast.expr) -> bool:
    """`count > 1`, which neither 0 nor 1 is."""
    parent = context.index.parents[use]
    if not isinstance(parent, ast.Compare) or parent.left is not use or len(parent.ops) != 1:
        return False
    other = parent.comparators[0]
    return (
        isinstance(parent.ops[0], ast.Gt) and isinstance(other, ast.Constant) and other.value == 1
    )


def _reads(context: Context, target: ast.Attribute) -> list[ast.expr]:
    """Where something of this name is read, of whatever object it is."""
    uses = context.index.attributes[target.attr]
    return [use for use in uses if isinstance(use.ctx, ast.Load)]


def _names_device(context: Context, use: ast.expr) -> bool:
    """`f"cuda:{rank % count}"`: without CUDA there is none of that name, whatever the number."""
    for parent in context.index.ancestors(use):
        if isinstance(parent, ast.stmt):
            break
        if isinstance(parent, ast.Call) and _is_device(context, parent):
            return True
        if any(
            isinstance(part, ast.Constant) and str(part.value).startswith("cuda")
            for part in ast.walk(parent)
            if isinstance(parent, ast.BinOp | ast.JoinedStr | ast.Call)
        ):
            return True
    return False


def _is_device(context: Context, call: ast.Call) -> bool:
    return context.resolve(call.func) in ("torch.device", "torch.cuda.device")


def _goes_through(context: Context, use: ast.expr) -> bool:
    """`range(count)`: what runs for each GPU names it."""
    parent = context.index.parents[use]
    return (
        isinstance(parent, ast.Call)
        and isinstance(parent.func, ast.Name)
        and parent.func.id == "range"
    )
