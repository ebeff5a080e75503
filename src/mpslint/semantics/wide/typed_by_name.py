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
from mpslint.semantics.worlds.machines import MACS

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

# Fact: pytorch#118517, open as of torch 2.13.
SPEAKING_OF_TYPES = (b".type()",)
_PARTS = 2
"""Where a name holds what is asked of a tensor, so many bindings of it are looked at."""


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
        if only_tests_run(context, call) or not context.worlds.reach(call) & MACS:
            continue
        is_computed = asked is not None and is_device_tensor(context, asked)
        if is_computed or context.passes.around(call) is not None:
            yield call


def _is_name_of_type(context: Context, node: ast.expr) -> bool:
    if isinstance(node, ast.Name):
        owner = context.names.owner(node.id, node)
        bindings = owner.bindings.get(node.id, ()) if owner is not None else ()
        values = [asked_for_type(binding.value) for binding in bindings]
        return 0 < len(values) <= _PARTS and None not in values
    return asked_for_type(node) is not None
