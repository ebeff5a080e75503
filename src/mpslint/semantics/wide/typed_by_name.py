"""Casts to the type of another tensor by its name, which MPS has no types for.

`y.type(x.type())` asks for `torch.mps.FloatTensor` where `x` is on MPS: `ValueError: invalid type`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.purpose.test_code import only_tests_run
from mpslint.semantics.steps.steps import is_device_tensor
from mpslint.semantics.syntax.expressions import asked_for_type
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.syntax.parameters import given_for
from mpslint.semantics.worlds.machines import MACS

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

# Fact: pytorch#118517, open as of torch 2.13.
SPEAKING_OF_TYPES = (b".type()",)
_PARTS = 2
"""Where a name holds what is asked of a tensor, so many bindings of it are looked at."""
_STEPS = 3
"""Through so many functions the name of a type is followed: deformable convolutions take two."""


def typed_by_name(context: Context) -> Iterator[ast.Call]:
    """Calls of `.type(...)` that are given what `.type()` says of a tensor."""
    for call in context.index.calls.get("type", ()):
        if isinstance(call.func, ast.Attribute) and len(call.args) == 1 and not call.keywords:
            if _is_name_of_type(context, call.args[0]):
                yield call


def raising_types(context: Context) -> Iterator[ast.Call]:
    """Those of `typed_by_name` to which a Mac comes with a tensor that is on its GPU: in what each
    forward pass runs, or with what is computed there."""
    for call in typed_by_name(context):
        asked = asked_for_type(call.args[0])
        if asked is not None and context.values.of(asked).on_cpu:
            continue
        if asked is not None and _is_kept_by_new_module(context, asked):
            continue
        if only_tests_run(context, call) or not context.worlds.reach(call) & MACS:
            continue
        is_computed = asked is not None and is_device_tensor(context, asked)
        if is_computed or context.passes.around(call) is not None:
            yield call


def _is_kept_by_new_module(context: Context, asked: ast.expr) -> bool:
    """Whether a tensor is an attribute of a module that is made for one pass, called there and
    never moved (`encoding = Encoding(3)` ... `encoding(x)`): it stays on the CPU, where it was
    made."""
    owner = context.index.enclosing(asked, ast.ClassDef)
    if not isinstance(asked, ast.Attribute) or not isinstance(owner, ast.ClassDef):
        return False
    if not isinstance(asked.value, ast.Name) or asked.value.id != "self":
        return False
    kept = list(_kept_as(context, owner, asked.attr))
    if not kept or not all(context.values.of(value).on_cpu for value in kept):
        return False
    makers = [
        use
        for use in context.index.names.get(owner.name, ())
        if not context.index.within(use, owner)  # `super(Encoding, self).__init__()`
    ]
    if not makers or not all(_is_only_called(context, use) for use in makers):
        return False
    others = context.elsewhere
    return others is not None and not others.uses(context.source.path, owner.name, method=False)


def _kept_as(context: Context, owner: ast.ClassDef, name: str) -> Iterator[ast.expr]:
    """What a class keeps under a name, be it as a buffer."""
    for statement in context.index.of(ast.Assign):
        if context.index.within(statement, owner) and any(
            isinstance(target, ast.Attribute) and target.attr == name
            for target in statement.targets
        ):
            yield statement.value
    for call in context.index.calls.get("register_buffer", ()):
        if context.index.within(call, owner) and len(call.args) > 1:
            if isinstance(call.args[0], ast.Constant) and call.args[0].value == name:
                yield call.args[1]


def _is_only_called(context: Context, use: ast.Name) -> bool:
    """Whether a class makes an object here that a function holds under a name, only to call it."""
    made = context.index.parents[use]
    kept = context.index.parents[made]
    if not isinstance(made, ast.Call) or made.func is not use or not isinstance(kept, ast.Assign):
        return False
    (target, *more) = kept.targets
    if more or not isinstance(target, ast.Name) or context.index.function(kept) is None:
        return False
    scope = context.names.scope_of(target)
    return all(
        one is target
        or (isinstance(call := context.index.parents[one], ast.Call) and call.func is one)
        for one in context.index.names[target.id]
        if context.names.owner(target.id, one) is scope
    )


def _is_name_of_type(context: Context, node: ast.expr | None, steps: int = _STEPS) -> bool:
    if isinstance(node, ast.Name):
        owner = context.names.owner(node.id, node)
        bindings = owner.bindings.get(node.id, ()) if owner is not None else ()
        return 0 < len(bindings) <= _PARTS and all(
            _is_given_name_of_type(context, binding.node, steps)
            if binding.kind == "parameter"
            else asked_for_type(binding.value) is not None
            for binding in bindings
        )
    return asked_for_type(node) is not None


def _is_given_name_of_type(context: Context, parameter: ast.AST, steps: int) -> bool:
    """Whether all calls of the file give a parameter the name of a tensor's type."""
    function = context.index.function(parameter)
    if not steps or not isinstance(parameter, ast.arg) or not isinstance(function, FUNCTIONS):
        return False
    calls = context.index.calls.get(function.name, ())
    return bool(calls) and all(
        _is_name_of_type(context, given_for(function.args, call, parameter.arg), steps - 1)
        for call in calls
    )
