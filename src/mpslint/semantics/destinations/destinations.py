"""Where data goes, as several rules ask it: may it be MPS, is it the device of a tensor."""

from __future__ import annotations

import ast

from mpslint.facts.priors import names_device
from mpslint.semantics.context import Context
from mpslint.semantics.steps.forward_inputs import from_forward
from mpslint.semantics.syntax.expressions import keyword
from mpslint.semantics.terms.value import Kind

NOT_ON_MPS = ("cuda", "cpu", "no-mps", "asked-cuda")
"""Facts under which the device at hand is not MPS."""
_PARAMETERS = ("weight", "bias")
_OF_TENSORS = frozenset(
    {"backward", "contiguous", "detach", "dim", "expand", "masked_fill", "numel", "size"}
    | {"unsqueeze", "view", "float", "half", "double", "bfloat16"}
)
"""Methods that tensors have, some of them modules as well."""
_OWN = ("self", "cls")
"""An object keeps in `self.device` whatever it was told."""


def may_be_mps(context: Context, device: ast.expr | None) -> bool:
    """Whether a device expression may name MPS: a portable selection, or one out of sight.

    A selection between CUDA and the CPU is no, whatever ought to be added to it.
    """
    if device is None:
        return False
    value = context.values.of(device)
    if value.kind in (Kind.DEVICE, Kind.DEVICE_STRING):
        return value.devices is None or "mps" in value.devices
    if value.kind is Kind.UNKNOWN:
        return names_device(context.values.last_name(device))
    return False


def pinned_to_mps(context: Context, device: ast.expr) -> bool:
    """Whether a device expression names MPS and nothing else."""
    return context.values.of(device).devices == frozenset({"mps"})


def is_device_of_tensor(context: Context, node: ast.expr) -> bool:
    """Whether `node` is the `.device` of a tensor or parameter, not that of a configuration."""
    if isinstance(node, ast.Name):
        bindings = context.flow.reaching(node)
        return bool(bindings) and all(
            binding.kind == "assign"
            and isinstance(binding.value, ast.Attribute)
            and is_device_of_tensor(context, binding.value)
            for binding in bindings
        )
    if not isinstance(node, ast.Attribute) or node.attr != "device":
        return False
    base = node.value
    if isinstance(base, ast.Attribute) and base.attr == "data":
        base = base.value  # It lies where the tensor does.
    if isinstance(base, ast.Call) and isinstance(base.func, ast.Name) and base.func.id == "next":
        inner = base.args[0] if base.args else None
        return isinstance(inner, ast.Call) and context.values.last_name(inner.func) in (
            "parameters",
            "buffers",
        )
    if isinstance(base, ast.Attribute) and base.attr in _PARAMETERS:
        return True
    kind = context.values.of(base).kind
    if kind is Kind.UNKNOWN and isinstance(base, ast.Name) and from_forward(context, base):
        return True
    return kind is Kind.TENSOR or (kind is Kind.UNKNOWN and _used_as_tensor(context, base))


def is_made_device(context: Context, node: ast.expr) -> bool:
    """Whether all that `node` may be is made by `torch.device(...)`: a name, or an attribute of an
    object that its own class sets; a parameter, by its default."""
    if isinstance(node, ast.Name):
        bindings = context.flow.reaching(node)
        return bool(bindings) and all(
            binding.kind in ("assign", "parameter")
            and binding.value is not None
            and _makes_device(context, binding.value)
            for binding in bindings
        )
    if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
        return False
    owner = context.index.enclosing(node, ast.ClassDef)
    if owner is None or node.value.id != "self":
        return False
    stored = [
        use
        for use in context.index.attributes[node.attr]
        if isinstance(use.ctx, ast.Store)
        and isinstance(use.value, ast.Name)
        and use.value.id == "self"
        and context.index.enclosing(use, ast.ClassDef) is owner
    ]
    return bool(stored) and all(_stores_device(context, use) for use in stored)


def _stores_device(context: Context, target: ast.Attribute) -> bool:
    statement = context.index.parents[target]
    if not isinstance(statement, ast.Assign):
        return False
    value = statement.value
    return _makes_device(context, value) or (
        isinstance(value, ast.Name) and is_made_device(context, value)
    )


def _makes_device(context: Context, value: ast.expr) -> bool:
    # By its full name alone: a file without `.device` has no finding.
    return (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and context.resolve(value.func) == "torch.device"
    )


def _used_as_tensor(context: Context, base: ast.expr) -> bool:
    """Whether a method that only tensors have, or modules as well, is called on the same name
    elsewhere."""
    if not isinstance(base, ast.Name) or base.id in _OWN:
        return False
    owner = context.names.owner(base.id, base)
    if owner is None:
        return False
    for use in context.index.names.get(base.id, ()):
        attribute = context.index.parents[use]
        if isinstance(attribute, ast.Attribute) and attribute.attr in _OF_TENSORS:
            call = context.index.parents[attribute]
            called = isinstance(call, ast.Call) and call.func is attribute
            if called and context.names.owner(use.id, use) is owner:
                return True
    return False


def device_argument(context: Context, call: ast.Call) -> ast.expr | None:
    """The device that a factory or a `.to` call is given, None where it is given none."""
    given = keyword(call, "device")
    if given is not None:
        return given
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in ("to", "to_empty"):
        return None
    if not call.args or context.dtypes.torch_dtype(call.args[0]) is not None:
        return None
    return call.args[0]


def type_may_be_mps(context: Context, node: ast.expr) -> bool:
    """As `may_be_mps`, for what names a device type: `"mps"`, `device.type`, a device itself."""
    if isinstance(node, ast.Attribute) and node.attr == "type":
        return may_be_mps(context, node.value)
    if isinstance(node, ast.Name):
        bindings = context.flow.reaching(node)
        if len(bindings) == 1 and isinstance(bindings[0].value, ast.Attribute):
            return type_may_be_mps(context, bindings[0].value)
    return may_be_mps(context, node)
