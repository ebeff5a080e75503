"""The device that an object has for its methods: `self.device`, where that is CUDA unless whoever
made the object, or trains it, has asked for another.

Beside it a selection of a method's own is a second device, which parts from the first as soon as
somebody asks for the CPU.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.destinations.selected_devices import picks_cuda
from mpslint.semantics.steps.trainer_steps import (
    is_trained,
    is_trainer_evaluation,
    is_trainer_step,
)
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.syntax.parameters import defaults_of, given_for

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.devices.devices_at_hand import DeviceName
    from mpslint.semantics.syntax.index import FunctionNode

# Fact: lightning/pytorch/core/hooks.py, `ModelHooks`: what a trainer calls of a module that it has
# moved to its device.
_HOOKS = frozenset(
    f"on_{stage}_{when}"
    for stage in ("train", "validation", "test", "predict")
    for when in ("start", "end", "epoch_start", "epoch_end")
)


def device_of_trained(context: Context, node: ast.AST) -> str | None:
    """`self.device` of a module of Lightning's, to which its trainer has moved it, in a step that
    the trainer calls; None: it is no such module, or may run before, or behind the trainer."""
    function = context.index.function(node)
    owner = context.index.parents[function] if function is not None else None
    if not isinstance(owner, ast.ClassDef) or not isinstance(function, FUNCTIONS):
        return None
    # What others may call as well runs where they have put the module.
    is_step = is_trainer_step(context, function) or is_trainer_evaluation(context, function)
    if not is_step and function.name not in _HOOKS:
        return None
    if not function.args.args or function.args.args[0].arg != "self":
        return None
    if not is_trained(context, owner):
        return None
    return "self.device"


def is_cuda_by_default(context: Context, device: DeviceName) -> bool:
    """Whether a device at hand is what a constructor was given for it, and CUDA by default."""
    if device.attribute is None:
        return False
    function = context.index.function(device.attribute)
    values = context.guards.assigned(device.attribute)
    if not isinstance(function, FUNCTIONS) or function.name != "__init__" or len(values) != 1:
        return False
    (value,) = values
    if isinstance(value, ast.Call) and context.resolve(value.func) == "torch.device":
        value = value.args[0] if len(value.args) == 1 and not value.keywords else value
    if not isinstance(value, ast.Name):
        return False
    bindings = context.flow.reaching(value)
    return (
        len(bindings) == 1
        and any(
            one is bindings[0].node and picks_cuda(context, default)
            for one, default in defaults_of(function.args)
        )
        and not _is_told_otherwise(context, device.attribute, function, value.id)
    )


def _is_told_otherwise(
    context: Context, attribute: ast.Attribute, function: FunctionNode, name: str
) -> bool:
    """Whether somebody asks for another device: by an attribute of an object, or in a call of the
    constructor, be it that of a subclass."""
    stores = context.index.attributes.get(attribute.attr, ())
    if any(isinstance(one.ctx, ast.Store) and one is not attribute for one in stores):
        return True
    owner = context.index.parents[function]
    known = owner.name if isinstance(owner, ast.ClassDef) else ""
    others = context.elsewhere.calls(context.source.path, known) if context.elsewhere else ()
    own = (*context.index.calls.get(known, ()), *context.index.calls.get("__init__", ()))
    return any(
        given_for(function.args, call, name, skipped=1) is not None
        or any(one.arg is None for one in call.keywords)
        for call in (*own, *others)
        if call is not None
    )


def device_of_asked(context: Context, node: ast.AST) -> str | None:
    """The device of a parameter of which the function asks whether it is on CUDA, to send other
    things along (`if x.is_cuda: theta = theta.cuda()`): what it sends without a question belongs
    there as well."""
    function = context.index.function(node)
    for asked in context.index.attributes.get("is_cuda", ()) if function is not None else ():
        name = asked.value
        gate = context.index.parents[asked]
        if not isinstance(name, ast.Name) or not isinstance(gate, ast.If) or gate.orelse:
            continue
        if context.index.function(asked) is not function or gate.test is not asked:
            continue
        bindings = context.flow.reaching(name)
        if bindings and all(one.kind == "parameter" for one in bindings):
            if context.flow.reaching_name(name.id, node) == bindings:
                return f"{name.id}.device"
    return None
