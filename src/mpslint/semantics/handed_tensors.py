"""Parameters for which somebody gives tensors of a device: a caller in the same file, or a step of
training in another.

`def report(loss, writer): writer.add_scalar("loss", loss.item())` says nothing of what it reads;
who calls it does.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.given_in_steps import origins, parameters_given
from mpslint.semantics.index import FunctionNode
from mpslint.semantics.placement import has_host_copy
from mpslint.semantics.step_calls import called_by_name
from mpslint.semantics.steps import is_device_tensor
from mpslint.semantics.value import Kind

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_KNOWN = "handed-tensors"


def is_made_of_handed(context: Context, node: ast.expr) -> bool:
    """Whether `node`, of which nothing else is known, is made of such a parameter."""
    value = context.values.of(node)
    if value.kind is not Kind.UNKNOWN or value.devices is not None or has_host_copy(node):
        return False
    function = context.index.function(node)
    if function is None:
        return False
    handed = _handed(context, function)
    return bool(handed) and not handed.isdisjoint(origins(context, node))


def _handed(context: Context, function: FunctionNode) -> frozenset[str]:
    known: dict[FunctionNode, frozenset[str]]
    known = context.memo.setdefault(_KNOWN, {})  # type: ignore[assignment]
    if function not in known:
        known[function] = frozenset()  # It may call itself.
        own = frozenset(_by_own_calls(context, function))
        known[function] = own | parameters_given(context, function)
    return known[function]


def _by_own_calls(context: Context, function: FunctionNode) -> set[str]:
    """The parameters for which every call in this file, of those that can be of no other function,
    gives a tensor of a device."""
    names = [item.arg for item in (*function.args.posonlyargs, *function.args.args)]
    found: set[str] | None = None
    for call in called_by_name(context, function):
        bound = isinstance(call.func, ast.Attribute) and names[:1] == ["self"]
        if any(isinstance(item, ast.Starred) for item in call.args):
            return set()
        given = dict(zip(names[bound:], call.args, strict=False))
        given |= {item.arg: item.value for item in call.keywords if item.arg is not None}
        here = {name for name, item in given.items() if _lies_there(context, item)}
        found = here if found is None else found & here
    return found or set()


def _lies_there(context: Context, node: ast.expr) -> bool:
    if has_host_copy(node):
        return False
    if is_device_tensor(context, node):
        return True
    kind = context.values.of(node).kind
    return kind is Kind.TENSOR and context.placement.on_accelerator(node)
