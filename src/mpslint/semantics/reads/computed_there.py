"""Tensors of a device, as far as the code around them shows, that a loop reads element by element.

What a model hands back that is given a tensor of a device lies there, and so does what a kernel
makes of it; of other code that computes, the copies to the host that stand beside it tell.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.steps.handed_back import comes_from_device_work
from mpslint.semantics.steps.steps import is_device_tensor
from mpslint.semantics.steps.trainer_steps import (
    is_told_a_metric,
    is_trainer_evaluation,
    is_trainer_step,
)
from mpslint.semantics.syntax.expressions import root_of
from mpslint.semantics.terms.value import Kind
from mpslint.semantics.terms.value_tables import TENSOR_ONLY
from mpslint.semantics.values.placement import has_host_copy

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_ASKED_OF_TENSORS = TENSOR_ONLY | {"topk"}
_PAIRING = ("max", "min", "sort")
"""Methods that hand back numbers and places; those of arrays of NumPy's have no such pair."""


def is_computed_there(context: Context, whole: ast.expr, root: ast.Name) -> bool:
    """Whether a kernel that is given a tensor of a device fills it, wherever that is: a model hands
    it back, or the code around it copies to the host. Else it may be what a data set is made of."""
    if is_device_tensor(context, whole) and (
        context.values.of(whole).loss
        or _copies_to_host(context, whole)
        or is_of_a_trainer(context, whole)
    ):
        return True
    if context.values.of(root).kind is not Kind.UNKNOWN:
        return False
    if is_told_a_metric(context, root):
        return True
    return (
        comes_from_device_work(context, root)
        or _is_one_of_many(context, root)
        or _is_chosen_of_outputs(context, root)
    )


def _is_chosen_of_outputs(context: Context, name: ast.Name) -> bool:
    """`best` of `values, best = scores.topk(10)`, where something out of sight has made `scores` of
    a device's tensors: who is asked that is a tensor."""
    bindings = context.flow.reaching(name)
    for item in bindings:
        made = item.value
        while isinstance(made, ast.Subscript):
            made = made.value
        if item.kind not in ("assign", "unpack") or not isinstance(made, ast.Call):
            return False
        if not isinstance(made.func, ast.Attribute) or has_host_copy(made):
            return False
        if made.func.attr not in _ASKED_OF_TENSORS:
            if made.func.attr not in _PAIRING or item.kind != "unpack":
                return False
        root = root_of(made)
        if not isinstance(root, ast.Name) or not comes_from_device_work(context, root):
            return False
    return bool(bindings)


def _is_one_of_many(context: Context, name: ast.Name) -> bool:
    """`found` of `for i, found in enumerate(suppress(model(x)))`: of what something makes of a
    device's tensors, a tensor for each of the batch."""
    bindings = context.flow.reaching(name)
    if not is_of_rows(context, name) or any(item.kind != "for" for item in bindings):
        return False
    heads = [getattr(item.node, "iter", None) for item in bindings]
    for head in heads:
        if isinstance(head, ast.Call) and context.values.last_name(head.func) == "enumerate":
            head = head.args[0] if head.args else None
        if not isinstance(head, ast.Name) or not comes_from_device_work(context, head):
            return False
    return bool(heads)


def is_of_rows(context: Context, node: ast.expr) -> bool:
    """Whether the function asks `node` for what lies along several axes (`found[:, :4]`), or for a
    part of a tensor (`found[i : i + 1].cpu()`), which no list has and no table."""
    if not isinstance(node, ast.Name):
        return False
    function = context.index.function(node)
    bindings = context.flow.reaching(node)
    return any(
        isinstance(part := context.index.parents[use], ast.Subscript)
        and part.value is use
        and _is_of_a_tensor(context, part)
        and context.index.function(use) is function
        and context.flow.reaching(use) == bindings
        for use in context.index.names.get(node.id, ())
    )


def _is_of_a_tensor(context: Context, part: ast.Subscript) -> bool:
    if isinstance(part.slice, ast.Tuple):
        return any(isinstance(item, ast.Slice) for item in part.slice.elts)
    return isinstance(part.slice, ast.Slice) and isinstance(
        context.index.parents[part], ast.Attribute
    )


def is_of_a_trainer(context: Context, node: ast.expr) -> bool:
    """Whether this stands in a step that Lightning's trainer runs, which brings the batch and the
    model to the device."""
    function = context.index.function(node)
    return function is not None and (
        is_trainer_step(context, function) or is_trainer_evaluation(context, function)
    )


def _copies_to_host(context: Context, node: ast.expr) -> bool:
    """Whether the function around `node`, or another method of its object, makes such a copy."""
    around = context.index.enclosing(node, ast.ClassDef) or context.index.function(node)
    return around is not None and any(
        isinstance(call.func, ast.Attribute)
        and not call.args
        and context.index.within(call, around)
        and not context.values.of(call.func.value).on_cpu
        for call in context.index.calls.get("cpu", ())
    )
