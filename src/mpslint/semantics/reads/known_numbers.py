"""Numbers that a forward pass puts on the device and reads back: the host knew them before.

`boxes = torch.as_tensor([n], device=out.device)`, a sum over all processes where there are several,
and `torch.clamp(boxes / processes(), min=1).item()`: with one process, as on a Mac, all that comes
of it is a copy there and a wait for it to come back.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.reads.number_reads import read_tensor
from mpslint.semantics.steps.steps import Step
from mpslint.semantics.syntax.expressions import keyword
from mpslint.semantics.syntax.parameters import positional_names
from mpslint.semantics.terms.value import CPU_ONLY, Kind
from mpslint.semantics.worlds.machines import MACS

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_FACTORIES = ("torch.tensor", "torch.as_tensor")
_NAMES_FOLLOWED = 3
"""`n = torch.as_tensor([n], device=device)`, `n = n / processes()`, and the read."""
_NUMBERS = (Kind.NUMBER, Kind.FLAG)


def numbers_read_back(context: Context) -> Iterator[Step]:
    if b"forward" not in context.source.data or b"tensor(" not in context.source.data:
        return
    for name in ("item", "float", "int"):
        for call in context.index.calls.get(name, ()):
            tensor = read_tensor(call)
            if tensor is None or not _is_known(context, tensor, _NAMES_FOLLOWED):
                continue
            function = context.passes.around(call)
            if function is not None and context.worlds.reach(call) & MACS:
                yield Step(call, tensor, function)


def _is_known(context: Context, node: ast.expr, names: int) -> bool:
    """Whether a tensor is made of numbers of the host alone, in this function."""
    if isinstance(node, ast.BinOp):
        sides = (node.left, node.right)
        known = [_is_known(context, side, names) for side in sides]
        return any(known) and all(
            known or _is_number(context, side) for known, side in zip(known, sides, strict=True)
        )
    if isinstance(node, ast.Call):
        if context.resolve(node.func) in _FACTORIES:
            return _is_put_there(context, node)
        others = [*node.args, *(item.value for item in node.keywords)]
        if (context.resolve(node.func) or "").startswith("torch.") and others:
            made, *others = others
        elif isinstance(node.func, ast.Attribute):
            made = node.func.value
        else:
            return False
        return _is_known(context, made, names) and all(_is_number(context, o) for o in others)
    if not isinstance(node, ast.Name) or not names:
        return False
    given = [item.value for item in context.flow.reaching(node) if item.kind != "augment"]
    return bool(given) and all(
        item is not None and _is_known(context, item, names - 1) for item in given
    )


def _is_put_there(context: Context, call: ast.Call) -> bool:
    """`torch.as_tensor([n], device=place)` of numbers, where `place` may be a device."""
    place = keyword(call, "device")
    if place is None or not call.args or context.guards.has(call, "cpu"):
        return False
    if context.values.device_types(place) == CPU_ONLY or not _is_of_pass(context, place):
        return False
    data = call.args[0]
    parts = data.elts if isinstance(data, ast.List | ast.Tuple) else [data]
    return bool(parts) and all(_is_number(context, part) for part in parts)


def _is_of_pass(context: Context, place: ast.expr) -> bool:
    """Whether a place is a device by its name, or that of what `forward` is given: what a matching
    hands back (`indices[0][0].device`) may lie on the CPU."""
    if not isinstance(place, ast.Attribute) or place.attr != "device":
        return isinstance(place, ast.Name)
    function = context.index.function(place)
    if function is None:
        return False
    given = set(positional_names(function.args))
    if function.name != "forward":
        given &= {"self"}
    return any(isinstance(item, ast.Name) and item.id in given for item in ast.walk(place))


def _is_number(context: Context, node: ast.expr, names: int = _NAMES_FOLLOWED) -> bool:
    if isinstance(node, ast.Constant) or context.values.of(node).kind in _NUMBERS:
        return True
    if isinstance(node, ast.Subscript):  # `x.shape[1]`
        return isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
    if isinstance(node, ast.Name):
        given = [item.value for item in context.flow.reaching(node) if item.kind == "assign"]
        return (
            bool(names)
            and len(given) == len(context.flow.reaching(node)) > 0
            and all(item is not None and _is_number(context, item, names - 1) for item in given)
        )
    # `get_world_size()` of somebody's: a function that takes nothing makes no tensor of this pass.
    if not isinstance(node, ast.Call) or node.args or node.keywords:
        return False
    return isinstance(node.func, ast.Name) or context.resolve(node.func) is not None
