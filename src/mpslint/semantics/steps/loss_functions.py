"""Functions that reckon a loss from what they are given: whoever trains calls one at each step."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.syntax.index import FunctionNode, walk
from mpslint.semantics.syntax.parameters import positional_names

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_FUNCTIONAL = "torch.nn.functional."
# Fact: the losses of torch.nn.functional, by how their names end.
_LOSSES = ("loss", "cross_entropy", "kl_div", "binary_cross_entropy_with_logits")
_NO_LOSSES = frozenset({"backward", "eval", "train", "no_grad", "inference_mode", "zero_grad"})
"""What a function calls that trains or evaluates itself."""
_KNOWN = "loss-functions"


def is_loss_function(context: Context, function: FunctionNode) -> bool:
    """Whether `function` compares several things that it is given by a loss of torch's, and hands
    back what comes out, without a model of its own."""
    known: dict[FunctionNode, bool]
    known = context.memo.setdefault(_KNOWN, {})  # type: ignore[assignment]
    if function not in known:
        known[function] = _compares(context, function)
    return known[function]


def _compares(context: Context, function: FunctionNode) -> bool:
    if function.name.startswith("test") or not isinstance(
        context.index.parents[function], ast.Module
    ):
        return False
    if not any(
        name.endswith(_LOSSES)
        and any(
            context.index.function(call) is function
            and (context.resolve(call.func) or "").startswith(_FUNCTIONAL)
            for call in calls
        )
        for name, calls in context.index.calls.items()
    ):
        return False
    parameters = set(positional_names(function.args))
    for call in walk(function):
        if isinstance(call, ast.Call):
            if last_name(call.func) in _NO_LOSSES:
                return False
            if isinstance(call.func, ast.Name) and call.func.id in parameters:
                return False  # A model that it is given: then this is a step, or an evaluation.
    returns = [
        part
        for item in context.index.returns(function)
        if item.value is not None
        for part in (item.value.elts if isinstance(item.value, ast.Tuple) else [item.value])
    ]
    return any(context.values.of(part).loss for part in returns)
