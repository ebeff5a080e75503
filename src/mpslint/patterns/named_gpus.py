"""Which GPUs a file names: whether one device can stand for all of them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


def changes_gpu(context: Context) -> bool:
    """Whether the file makes another GPU than the first the current one."""
    calls = context.calls_of("torch.cuda.set_device", "torch.cuda.device")
    return any(not _is_of_the_first(call) for call in calls)


def _is_of_the_first(call: ast.Call) -> bool:
    """`torch.cuda.set_device(0)`, by whatever it is named."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    return (
        len(given) == 1
        and isinstance(given[0], ast.Constant)
        and type(given[0].value) in (int, str)
        and given[0].value in (0, "cuda:0")
    )


def several_gpus(context: Context) -> bool:
    """Whether the file names more than one CUDA device, so that one name cannot stand for all."""
    known = context.memo.get("names-several-gpus")
    if known is None:
        known = context.memo["names-several-gpus"] = _names_several(context)
    return bool(known)


def _names_several(context: Context) -> bool:
    indices = {
        literal.ordinal or 0
        for literal in context.devices.literals
        if literal.backend == "cuda" and context.devices.slot(literal.node) is not None
    }
    for call in context.index.calls.get("cuda", ()):
        for given in call.args[:1]:
            if isinstance(given, ast.Constant) and type(given.value) is int:
                indices.add(given.value)
    return len(indices) > 1
