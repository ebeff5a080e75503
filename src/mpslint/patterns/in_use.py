"""How to name the device that the things around a place are sent to."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.model import Applicability
from mpslint.semantics.destinations.devices_in_use import (
    device_in_use,
    is_cuda_with_cuda,
    name_in_use,
)
from mpslint.semantics.destinations.selected_devices import all_bind_cuda, assigned_cuda
from mpslint.semantics.destinations.sure_devices import may_be_text, surely_devices
from mpslint.semantics.operands.meetings import meets_module_on
from mpslint.semantics.terms.value import Kind

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.devices.devices_at_hand import DeviceName

_OF_TORCH = ("dtype", "shape", "to", "parameters", "requires_grad", "size", "backward")


def named_in_use(
    context: Context, node: ast.AST, torch: str | None, *, type_only: bool
) -> tuple[str, bool, Applicability] | None:
    """The text, whether it is a string, and the level of a fix that uses it.

    Mixed precision only has to be of the type that the things around it are on. A move is another
    one where the object holds another device than CUDA, on a machine that has it.
    """
    device = device_in_use(context, node)
    if device is None:
        return None
    text, value = context.source.segment(device), context.values.of(device)
    level = Applicability.UNSAFE
    if type_only or is_cuda_with_cuda(context, device) or meets_module_on(context, node, device):
        level = Applicability.SAFE
    if not type_only:
        return text, value.kind is Kind.DEVICE_STRING, level
    if value.kind is Kind.DEVICE and (value.devices is not None or _is_of_torch(context, device)):
        return text, False, level
    # A string may name an index, which has no place in a type.
    return (f"{torch}.device({text})", False, level) if torch is not None else None


def type_in_use(context: Context, node: ast.AST, torch: str | None) -> str | None:
    """The device of which the function around `node` sends things to a variable, a parameter say.

    Whatever it is, mixed precision is for the type of device that its operands are on.
    """
    used = name_in_use(context, node)
    if used is None:
        return None
    is_device, held = context.values.of(used).kind is Kind.DEVICE, context.flow.reaching(used)
    if (is_device and not may_be_text(context, held)) or surely_devices(context, held):
        return used.id
    return f"{torch}.device({used.id})" if torch is not None else None


def typed(context: Context, device: DeviceName, torch: str | None) -> str:
    """How to name a device at hand that is asked for its type: a parameter that may be text, which
    has none, is made a device."""
    if device.is_string or torch is None or not may_be_text(context, device.bindings):
        return device.text
    return f"{torch}.device({device.text})"


def _is_of_torch(context: Context, device: ast.Attribute) -> bool:
    """Whether the function treats the object as a tensor or a module, whose `device` is no text."""
    function = context.index.function(device)
    written = ast.dump(device)
    if any(ast.dump(item.value) == written for item in context.index.attributes.get("type", ())):
        return True  # `p.device.type`
    return any(
        ast.dump(item.value) == ast.dump(device.value) and context.index.function(item) is function
        for name in _OF_TORCH
        for item in context.index.attributes.get(name, ())
    )


def is_of_module(context: Context, device: DeviceName) -> bool:
    return device.attribute is None and all(
        context.index.function(binding.node) is None for binding in device.bindings
    )


def follows_machine(context: Context, device: DeviceName) -> bool:
    """Whether a device at hand is CUDA wherever CUDA is, whoever calls and whatever is asked."""
    if device.attribute is not None:
        return assigned_cuda(context, device.attribute)
    return all_bind_cuda(context, device.bindings)
