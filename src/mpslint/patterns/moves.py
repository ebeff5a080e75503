"""`.cuda()` becomes `.to(device)`, alone or with the `if cuda:` around it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.model import Applicability, Edit, Fix
from mpslint.patterns.gates import open_gates
from mpslint.patterns.literal import several_gpus
from mpslint.patterns.selection import Reference, reference
from mpslint.patterns.text import holds_comment, replace_span

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


def move_to_device(context: Context, call: ast.Call) -> Fix | None:
    """The fix for one `.cuda()`; None where it names a GPU of its own or is guarded otherwise."""
    if context.guards.at(call) & {"cuda", "asked-cuda", "no-mps", "caught"}:
        return open_gates(context)
    found = reference(context, call)
    if found is None:
        return None
    edits = rewrite_call(context, call, found)
    if edits is None:
        return None
    return Fix("Move to the selected device", (*found.edits, *edits), Applicability.SAFE)


def rewrite_call(context: Context, call: ast.Call, device: Reference) -> tuple[Edit, ...] | None:
    """Edits from `.cuda(...)` to `.to(device, ...)`."""
    function = call.func
    assert isinstance(function, ast.Attribute)
    source = context.source
    name_start, name_end = context.name_token(function)
    end = source.span(call)[1]
    if holds_comment(source, name_end, end):
        return None
    arguments = [device.text]
    for position, argument in enumerate(call.args):
        if position == 0:
            if not default_gpu(context, argument):
                return None
        else:
            arguments.append(f"non_blocking={source.segment(argument)}")
    for keyword in call.keywords:
        if keyword.arg == "device":
            if not default_gpu(context, keyword.value):
                return None
        elif keyword.arg in ("non_blocking", "memory_format"):
            arguments.append(f"{keyword.arg}={source.segment(keyword.value)}")
        else:
            return None
    return (replace_span(source, name_start, end, f"to({', '.join(arguments)})"),)


def default_gpu(context: Context, argument: ast.expr) -> bool:
    """Whether `.cuda(argument)` means the GPU that the selected device means."""
    if isinstance(argument, ast.Constant):
        return argument.value is None or (argument.value == 0 and not several_gpus(context))
    return False
