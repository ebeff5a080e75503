"""Loops that call a model a number of times on what it has made: samplers and solvers.

`for i in tqdm(range(steps)): x = self.step(x, sigmas[i])` trains nothing and goes through no
loader; each turn queues work of its own, so what it reads it waits for, as a step of training does.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.facts.machines import REARRANGING
from mpslint.semantics.loops.loops import Loop, LoopKind
from mpslint.semantics.steps.steps import is_device_tensor
from mpslint.semantics.syntax.expressions import keyword, last_name, root_of
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.syntax.node_kinds import of_kinds
from mpslint.semantics.terms.value import CPU_ONLY, Kind
from mpslint.semantics.values.placement import has_host_copy

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_BARS = frozenset({"tqdm", "trange", "track"})
_KINDS = "kinds of the loops in loops"
_NO_TENSORS = (Kind.NDARRAY, Kind.NUMBER, Kind.STRING)
_NAMES_FOLLOWED = 3
"""`sigmas = self.schedule(n, device=x.device)`, `sigmas = repeat(sigmas, ...)`, and the text."""


def generating(context: Context, node: ast.AST) -> Loop | None:
    """The loop that runs `node` at each turn and calls a model there, itself or in a loop in it,
    and does so a number of times: not for each batch or sample of something."""
    loops = context.loops
    loop = loops.innermost(node)
    if loop is None or not _counts(context, loop) or not loops.every_step(node, loop):
        return None
    known: dict[Loop, frozenset[LoopKind]]
    known = context.memo.setdefault(_KINDS, {})  # type: ignore[assignment]
    if loop not in known:
        inner = of_kinds(loop, {ast.For, ast.While})
        known[loop] = frozenset(loops.kind(item) for item in inner)  # type: ignore[arg-type]
    kinds = known[loop]
    if LoopKind.TRAIN in kinds or kinds.isdisjoint((LoopKind.EVAL, LoopKind.DEVICE)):
        return None
    return None if loops.waits_anyway(loop) else loop


def _counts(context: Context, loop: Loop) -> bool:
    """`for i in range(n)`, be it shown by a progress bar that has a name."""
    if not isinstance(loop, ast.For):
        return False
    header: ast.expr | None = loop.iter
    if isinstance(header, ast.Name):
        bindings = context.flow.reaching(header)
        header = bindings[0].value if len(bindings) == 1 else None
    if isinstance(header, ast.Call) and last_name(header.func) in _BARS and header.args:
        header = header.args[0]
    if not isinstance(header, ast.Call) or last_name(header.func) not in ("range", "trange"):
        return False
    return not any(
        isinstance(item, ast.Call) and last_name(item.func) == "len"
        for item in of_kinds(header, {ast.Call})
    )


def lies_on_device(context: Context, node: ast.expr, names: int = _NAMES_FOLLOWED) -> bool:
    """Whether `node` is of a tensor that kernels fill, or that somebody was told to make on a
    device."""
    if has_host_copy(node):
        return False
    if is_device_tensor(context, node):
        return True
    value = context.values.of(node)
    if value.kind not in (Kind.UNKNOWN, Kind.TENSOR) or value.on_cpu:
        return False
    if value.kind is Kind.TENSOR and value.devices is None and not value.by_use:
        return context.placement.program_uses_devices  # A parameter that is said to be a tensor.
    node = root_of(node, ast.Subscript)
    if isinstance(node, ast.Call):
        return _is_made_there(context, node, names)
    if not isinstance(node, ast.Name) or not names:
        return False
    given = [item.value for item in context.flow.reaching(node) if item.kind == "assign"]
    return len(given) == len(context.flow.reaching(node)) > 0 and all(
        item is not None and lies_on_device(context, item, names - 1) for item in given
    )


def _is_made_there(context: Context, call: ast.Call, names: int) -> bool:
    if context.resolve(call.func) in REARRANGING and call.args:
        return lies_on_device(context, call.args[0], names - 1) if names else False
    place = keyword(call, "device")
    if place is None or context.guards.has(call, "cpu"):
        return False
    return not _is_cpu(context, place) and not _gives_no_tensor(context, call)


def _gives_no_tensor(context: Context, call: ast.Call) -> bool:
    """Whether the function is one of another file of the project that hands back something else,
    such as an array: the device is then for what it does inside."""
    name = context.resolve(call.func)
    found = context.definition_elsewhere(name) if name is not None else None
    if found is None or not found.bindings:
        return False
    return all(
        isinstance(item.node, FUNCTIONS)
        and found.context.values.returned(item.node).kind in _NO_TENSORS
        for item in found.bindings
    )


def _is_cpu(context: Context, place: ast.expr) -> bool:
    named = isinstance(place, ast.Constant) and place.value in (None, "cpu")
    return named or context.values.device_types(place) == CPU_ONLY
