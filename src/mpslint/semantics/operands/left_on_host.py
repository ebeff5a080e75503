"""What was left on the CPU when somebody calls a function with it, and what the function makes of
that.

`align(torch.from_numpy(poses))`, in another file as well: what `align` computes of its parameter,
and of nothing else, it computes on the CPU.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.elsewhere.elsewhere import Given
from mpslint.semantics.operands.constructors import is_before_move
from mpslint.semantics.operands.sample_transforms import only_transforms_run
from mpslint.semantics.syntax.index import FunctionNode
from mpslint.semantics.syntax.parameters import given_for, positional_parameters
from mpslint.semantics.terms.value import Kind
from mpslint.semantics.values.placement import has_host_copy

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_STEPS = 8
"""So many assignments, one made of the other, stand between a parameter and what is made of it."""
_DEVICES = (Kind.DEVICE, Kind.DEVICE_STRING)
_MOVING = ("to", "cuda", "mps")


def lies_on_host(context: Context, value: ast.expr, call: ast.Call) -> bool:
    """Whether what a call gives is an array, or a tensor that nobody has moved from the CPU."""
    known = context.values.of(value)
    if known.kind in _DEVICES:
        return False
    if known.on_cpu or known.kind is Kind.NDARRAY or has_host_copy(value):
        return True
    return is_before_move(context, value) or only_transforms_run(context, call)


def is_made_of_host_parameters(context: Context, node: ast.expr) -> bool:
    """Whether a function of the module makes something of its parameters alone, which all who call
    it give from the CPU."""
    function = context.index.function(node)
    if function is None or context.index.parents[function] is not context.tree:
        return False
    if context.elsewhere is None or function.decorator_list:
        return False
    asked: dict[str, None] = {}
    return (
        _asks_for(context, node, asked, _STEPS)
        and bool(asked)
        and all(_all_give_from_host(context, function, name) for name in asked)
    )


def _asks_for(context: Context, node: ast.expr, asked: dict[str, None], steps: int) -> bool:
    """Whether all names in an expression are modules, functions of torch, or parameters and what is
    made of them, which are then `asked` for; False: some are something else."""
    for item in ast.walk(node):
        if isinstance(item, ast.keyword) and item.arg == "device":
            return False
        if isinstance(item, ast.Call):
            if isinstance(item.func, ast.Attribute) and item.func.attr in _MOVING:
                return False
            if not isinstance(item.func, ast.Attribute) and context.resolve(item.func) is None:
                return False
        if not isinstance(item, ast.Name) or not isinstance(item.ctx, ast.Load):
            continue
        if (context.resolve(item) or "").partition(".")[0] in ("torch", "numpy", "math"):
            continue
        bindings = context.flow.reaching(item)
        if not bindings:
            return False
        for binding in bindings:
            if binding.kind == "parameter":
                asked[item.id] = None
            elif binding.value is None or binding.kind not in ("assign", "unpack") or not steps:
                return False
            elif context.values.of(binding.value).on_cpu:
                continue
            elif not _asks_for(context, binding.value, asked, steps - 1):
                return False
    return True


def _all_give_from_host(context: Context, function: FunctionNode, name: str) -> bool:
    known: dict[tuple[FunctionNode, str], bool]
    known = context.memo.setdefault("given from the CPU", {})  # type: ignore[assignment]
    if (function, name) not in known:
        known[function, name] = False
        known[function, name] = _is_given_from_host(context, function, name)
    return known[function, name]


def _is_given_from_host(context: Context, function: FunctionNode, name: str) -> bool:
    assert context.elsewhere is not None
    own = []
    for use in context.index.names.get(function.name, ()):
        if isinstance(use.ctx, ast.Load) and not context.index.within(use, function):
            call = context.index.parents[use]
            if not isinstance(call, ast.Call) or call.func is not use:
                return False
            own.append(call)
    for call in own:
        value = given_for(function.args, call, name)
        if value is None or not lies_on_host(context, value, call):
            return False
    if not context.elsewhere.uses(context.source.path, function.name, method=False):
        return bool(own)
    names = [item.arg for item in positional_parameters(function.args)]
    place = names.index(name) if name in names else None
    given = Given(function.name, name, place, method=False)
    return context.elsewhere.gives_from_host(context.source.path, given)
