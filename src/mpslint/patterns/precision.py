"""float64 where the device has it, float32 on MPS: the conditional dtype that fixes write."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.patterns.selection import torch_name
from mpslint.patterns.text import quote
from mpslint.semantics.destinations import pinned_to_mps, surely_device

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_NARROW = {"float64": "float32", "complex128": "complex64"}


def is_path(node: ast.AST) -> bool:
    """Whether an expression is a name or a chain of attributes, which may be written twice."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def device_test(context: Context, device: ast.expr, backend: str) -> str | None:
    """The condition that `device` is of type `backend`, None where it cannot be asked again.

    A device of unknown origin may be a str or None, which have no `.type`.
    """
    if not is_path(device):
        return None
    mark, text = quote(context.source), context.source.segment(device)
    if surely_device(context, device):
        return f"{text}.type == {mark}{backend}{mark}"
    return f"str({text}).startswith({mark}{backend}{mark})"


def conditional_dtype(context: Context, device: ast.expr, wide: str, kept: str) -> str | None:
    """`torch.float32 if device.type == "mps" else torch.float64`.

    `wide` is the dtype by its usual name, `kept` how the file spells it.
    """
    torch = torch_name(context, device)
    if torch is None:
        return None
    narrow = f"{torch}.{_NARROW[wide]}"
    if pinned_to_mps(context, device):
        return narrow
    test = device_test(context, device, "mps")
    return f"{narrow} if {test} else {kept}" if test is not None else None
