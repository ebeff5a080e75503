"""Reads of one number of a tensor on a device: `t.item()`, `float(t)`, and what no method tells.

What a value of unknown origin is follows from what it is asked and from what it was made of.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.reads.implicit_reads import implicit_reads
from mpslint.semantics.reads.shown_each_epoch import is_shown_each_epoch
from mpslint.semantics.steps.handed_back import comes_from_device_work, works_on_device
from mpslint.semantics.steps.handed_tensors import is_handed, is_made_of_handed
from mpslint.semantics.steps.kept_by_called import is_kept_by_called
from mpslint.semantics.steps.step_runs import follows
from mpslint.semantics.steps.steps import Step, is_device_tensor, training_on_device
from mpslint.semantics.terms.value import Kind
from mpslint.semantics.terms.value_tables import REDUCTIONS
from mpslint.semantics.values.placement import has_host_copy

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_NUMBERS = ("float", "int")


def reads_at_steps(context: Context) -> Iterator[Step]:
    """Calls that read one number of a tensor on a device at each step of a training loop."""
    for name in ("item", "float"):
        for call in context.index.calls.get(name, ()):
            tensor = read_tensor(call)
            if tensor is None:
                continue
            turns = training_on_device(context, call)
            if turns is None or is_shown_each_epoch(context, call, turns):
                continue
            if is_read(context, call, tensor):
                yield Step(call, tensor, turns)
    # What is no tensor is seen in the file itself, which costs less than to ask who trains.
    for node, tensor in implicit_reads(context, lambda _: True):
        value = context.values.of(tensor)
        known = value.kind is Kind.TENSOR and not value.by_use and is_device_tensor(context, tensor)
        if known or is_handed(context, tensor):
            turns = training_on_device(context, node)
            if turns is not None:
                yield Step(node, tensor, turns)


def reads_ahead(context: Context, read: Step) -> list[Step]:
    """`.item()` of values of unknown origin, with no device work between them and `read`: what
    they wait for, `read` need not wait for."""
    ahead = []
    for call in context.index.calls.get("item", ()):
        if (call.lineno, call.col_offset) >= (read.node.lineno, read.node.col_offset):
            continue
        tensor = read_tensor(call)
        if tensor is None or training_on_device(context, call) is not read.turns:
            continue
        step = Step(call, tensor, read.turns)
        if context.values.of(tensor).kind is not Kind.UNKNOWN or has_host_copy(tensor):
            continue
        if follows(context, step, read):
            ahead.append(step)
    return sorted(ahead, key=lambda s: (s.node.lineno, s.node.col_offset))


def numbers_in_forward(context: Context) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Reads of one number, those that say so first."""
    for call in context.index.calls.get("item", ()):
        tensor = read_tensor(call)
        if tensor is not None:
            yield call, tensor
    if b"forward" in context.source.data:
        yield from implicit_reads(context, lambda node: bool(context.passes.loop(node)))


def says_so(node: ast.expr) -> bool:
    """Whether it is `.item()`, which only tensors are asked for."""
    called = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    return called and node.func.attr == "item"  # type: ignore[attr-defined]


def is_read(context: Context, call: ast.Call, tensor: ast.expr) -> bool:
    """Whether `call` reads a number of a tensor on a device."""
    if is_device_tensor(context, tensor) or is_handed(context, tensor):
        return True
    return isinstance(call.func, ast.Attribute) and (
        _is_made_of_device_tensors(context, tensor) or is_made_of_handed(context, tensor)
    )


def _is_made_of_device_tensors(context: Context, tensor: ast.expr) -> bool:
    """`hits.sum().item()` and `top1.item()`, where something out of sight has made `hits` and
    `top1` of a device's tensors, or is a step of training: what has an `item()` lies there too."""
    made = tensor
    if isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute):
        if made.func.attr not in REDUCTIONS or made.args or made.keywords:
            return False
        made = made.func.value
    elif isinstance(made, ast.Subscript) and isinstance(made.slice, ast.Constant):
        made = made.value
    value = context.values.of(made)
    if value.kind is not Kind.UNKNOWN or value.devices is not None:
        return False
    if is_kept_by_called(context, made):
        return True
    if isinstance(made, ast.Name):
        return comes_from_device_work(context, made)
    return made is not tensor and isinstance(made, ast.Call) and works_on_device(context, made)


def read_tensor(call: ast.Call) -> ast.expr | None:
    """`t` of `t.item()`, of `float(t)` and of `int(t)`."""
    if call.keywords:
        return None
    if isinstance(call.func, ast.Attribute):
        return call.func.value if call.func.attr == "item" and not call.args else None
    return call.args[0] if len(call.args) == 1 and call.func.id in _NUMBERS else None  # type: ignore[attr-defined]
