"""Casts by a type of the CPU's tensors, of what lies on a device and goes back there.

`labels.type(torch.LongTensor).to(device)` copies to the host, waits, and copies back; `.long()`
casts where the tensor lies.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.records import NamedTuple
from mpslint.semantics.loops.loops import LoopKind
from mpslint.semantics.packages.consumers import reads_of
from mpslint.semantics.steps.steps import (
    Step,
    Turns,
    is_device_tensor,
    training_on_device,
    trains_on_device,
)
from mpslint.semantics.syntax.expressions import names_in
from mpslint.semantics.terms.value import Kind
from mpslint.semantics.values.placement import has_host_copy, is_host_copy

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

# Fact: torch's legacy tensor types of the CPU (`torch/tensor_types.cpp`), and the methods that cast
# to their dtypes. DoubleTensor is left out: MPS has no float64.
_CASTS = {
    "FloatTensor": "float",
    "HalfTensor": "half",
    "BFloat16Tensor": "bfloat16",
    "LongTensor": "long",
    "IntTensor": "int",
    "ShortTensor": "short",
    "BoolTensor": "bool",
}
_KINDS = (LoopKind.EVAL, LoopKind.DEVICE)


class CastOverHost(NamedTuple):
    step: Step
    method: str
    """What casts where the tensor lies."""


def casts_over_host(context: Context) -> Iterator[CastOverHost]:
    """Those at each step, in each forward pass, and at each turn of what evaluates."""
    for call in context.index.calls.get("type", ()):
        if not isinstance(call.func, ast.Attribute) or len(call.args) != 1:
            continue
        method = _CASTS.get(_named(context, call.args[0]))
        if method is None or has_host_copy(call.func.value):
            continue
        back = _goes_back(context, call)
        if back is None or not _lies_there(context, call.func.value, back):
            continue
        turns = _turns(context, call)
        if turns is not None:
            yield CastOverHost(Step(call, call.func.value, turns), method)


def _named(context: Context, given: ast.expr) -> str:
    """`LongTensor` of `torch.LongTensor` and of `"torch.LongTensor"`."""
    named = given.value if isinstance(given, ast.Constant) else context.resolve(given)
    module, _, name = str(named).rpartition(".")
    return name if module == "torch" else ""


def _goes_back(context: Context, call: ast.Call) -> ast.Call | None:
    """The call that moves what is cast, at once or as all that is made of the name for it."""
    parent = context.index.parents[call]
    if isinstance(parent, ast.Attribute):
        move = context.index.parents[parent]
        return move if isinstance(move, ast.Call) and _moves(context, move, parent) else None
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1:
        return None
    target = parent.targets[0]
    uses = list(reads_of(context, target)) if isinstance(target, ast.Name) else []
    asked = context.index.parents[uses[0]] if len(uses) == 1 else None
    if not isinstance(asked, ast.Attribute):
        return None
    move = context.index.parents[asked]
    return move if isinstance(move, ast.Call) and _moves(context, move, asked) else None


def _moves(context: Context, call: ast.Call, function: ast.Attribute) -> bool:
    """`x.to(device)`, `x.cuda()`, and not to the CPU or to a dtype alone."""
    if call.func is not function or is_host_copy(call):
        return False
    if function.attr == "cuda":
        return True
    if function.attr != "to" or not (call.args or call.keywords):
        return False
    first = call.args[0] if call.args else call.keywords[0].value
    value = context.values.of(first)
    return not value.on_cpu and context.dtypes.torch_dtype(first) is None


def _lies_there(context: Context, tensor: ast.expr, back: ast.Call) -> bool:
    """Whether what is cast lies on a device: it is known to, or goes back to its own
    (`labels.type(torch.LongTensor).to(labels.device)`)."""
    value = context.values.of(tensor)
    if value.kind not in (Kind.TENSOR, Kind.UNKNOWN) or value.on_cpu:
        return False
    if context.placement.on_accelerator(tensor) or is_device_tensor(context, tensor):
        return True
    target = back.args[0] if back.args else None
    own = isinstance(target, ast.Attribute) and target.attr == "device"
    return own and isinstance(target.value, ast.Name) and target.value.id in names_in(tensor)  # type: ignore[union-attr]


def _turns(context: Context, call: ast.Call) -> Turns | None:
    function = context.passes.around(call)
    if function is not None:
        return function
    if trains_on_device(context):
        turns = training_on_device(context, call)
        if turns is not None:
            return turns
    loop = context.loops.innermost(call)
    if loop is None or context.loops.kind(loop) not in _KINDS:
        return None
    return loop if context.loops.every_step(call, loop) else None
