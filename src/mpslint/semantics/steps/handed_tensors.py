"""Parameters for which somebody gives tensors of a device: a caller in the same file, a step of
training in another, or a trainer out of sight.

`def report(loss, writer): writer.add_scalar("loss", loss.item())` says nothing of what it reads;
who calls it does.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.records import NamedTuple
from mpslint.semantics.loops.step_calls import called_by_name
from mpslint.semantics.steps.called_by_bases import calls_by_bases
from mpslint.semantics.steps.given_in_steps import origins, parameters_given
from mpslint.semantics.steps.steps import is_device_tensor, training
from mpslint.semantics.steps.trainer_steps import given_by_trainer
from mpslint.semantics.syntax.index import FunctionNode
from mpslint.semantics.syntax.parameters import positional_names
from mpslint.semantics.terms.value import Kind
from mpslint.semantics.values.placement import has_host_copy

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.names.names import Binding

_KNOWN = "handed-tensors"
_PARTS = ("items", "values")


class HandedTensors(NamedTuple):
    tensors: frozenset[str] = frozenset()
    """Parameters that are tensors of a device."""
    tables: frozenset[str] = frozenset()
    """Parameters that hold such tensors: `{"loss": loss}`, `**numbers`, `*losses`."""


def is_made_of_handed(context: Context, node: ast.expr) -> bool:
    """Whether `node`, of which nothing else is known, is made of such a parameter."""
    value = context.values.of(node)
    if value.kind is not Kind.UNKNOWN or value.devices is not None or has_host_copy(node):
        return False
    function = context.index.function(node)
    if function is None:
        return False
    handed = _handed(context, function)
    known = handed.tensors | handed.tables
    return bool(known) and not known.isdisjoint(origins(context, node))


def is_handed(context: Context, node: ast.expr) -> bool:
    """Whether `node` is such a parameter as it is, or a part of one that holds tensors: `v` of
    `for k, v in numbers.items()`."""
    function = context.index.function(node)
    if not isinstance(node, ast.Name) or function is None:
        return False
    value = context.values.of(node)
    if value.kind is not Kind.UNKNOWN or value.devices is not None:
        return False
    bindings = context.flow.reaching(node)
    return bool(bindings) and all(_is_handed(context, function, node, one) for one in bindings)


def _is_handed(context: Context, function: FunctionNode, node: ast.Name, binding: Binding) -> bool:
    if binding.kind == "parameter":
        return node.id in _handed(context, function).tensors
    if binding.kind != "for" or binding.value is None:
        return False
    table, target = binding.value, binding.target
    if isinstance(table, ast.Call) and isinstance(table.func, ast.Attribute):
        if table.args or table.func.attr not in _PARTS:
            return False
        if table.func.attr == "items":
            pair = target.elts if isinstance(target, ast.Tuple) else []
            if len(pair) != 2 or not isinstance(pair[1], ast.Name) or pair[1].id != node.id:
                return False
        table = table.func.value
    return (
        isinstance(table, ast.Name)
        and table.id in _handed(context, function).tables
        and all(one.kind == "parameter" for one in context.flow.reaching(table))
    )


def _handed(context: Context, function: FunctionNode) -> HandedTensors:
    known: dict[FunctionNode, HandedTensors]
    known = context.memo.setdefault(_KNOWN, {})  # type: ignore[assignment]
    if function not in known:
        known[function] = HandedTensors()  # It may call itself.
        own = _by_own_calls(context, function)
        given = parameters_given(context, function)
        arguments = function.args
        gathering = {item.arg for item in (arguments.vararg, arguments.kwarg) if item is not None}
        known[function] = HandedTensors(
            own.tensors | (given - gathering) | _by_bases(context, function),
            own.tables | (given & gathering) | given_by_trainer(context, function),
        )
    return known[function]


def _by_own_calls(context: Context, function: FunctionNode) -> HandedTensors:
    """The parameters for which every call in this file, of those that can be of no other function,
    gives a tensor of a device, or what holds one."""
    found: HandedTensors | None = None
    for call in called_by_name(context, function):
        if any(isinstance(item, ast.Starred) for item in call.args):
            return HandedTensors()
        single, gathered = _given(call, function)
        tensors = {name for name, item in single.items() if _lies_there(context, item)}
        tables = {name for name, item in single.items() if holds_tensors(context, item)}
        tables |= {
            name
            for name, items in gathered.items()
            if any(_lies_there(context, item) for item in items)
        }
        if found is not None:
            tensors &= found.tensors
            tables &= found.tables
        found = HandedTensors(frozenset(tensors), frozenset(tables))
    return found or HandedTensors()


def _by_bases(context: Context, function: FunctionNode) -> frozenset[str]:
    """The parameters for which a class that the one around inherits from gives such tensors."""
    return frozenset(
        name
        for base, call in calls_by_bases(context, function)
        if training(base, call) is not None
        for name, item in _given(call, function)[0].items()
        if _lies_there(base, item)
    )


def _given(
    call: ast.Call, function: FunctionNode
) -> tuple[dict[str, ast.expr], dict[str, list[ast.expr]]]:
    """What a call gives to each parameter, and what it gives to `*args` and `**others`."""
    arguments = function.args
    names = positional_names(arguments)
    if names[:1] == ["self"]:
        names = names[1:]
    single = dict(zip(names, call.args, strict=False))
    gathered: dict[str, list[ast.expr]] = {}
    if arguments.vararg is not None:
        gathered[arguments.vararg.arg] = call.args[len(names) :]
    known = {*names, *(item.arg for item in arguments.kwonlyargs)}
    others = []
    for item in call.keywords:
        if item.arg in known:
            single[item.arg] = item.value
        elif item.arg is not None:
            others.append(item.value)
    if arguments.kwarg is not None:
        gathered[arguments.kwarg.arg] = others
    return single, gathered


def holds_tensors(context: Context, node: ast.expr) -> bool:
    """Whether a table that is written out, `{"loss": loss}`, holds a tensor of a device."""
    parts: list[ast.expr] = []
    if isinstance(node, ast.Dict):
        parts = node.values
    elif isinstance(node, ast.List | ast.Tuple):
        parts = node.elts
    return any(_lies_there(context, part) for part in parts)


def _lies_there(context: Context, node: ast.expr) -> bool:
    if has_host_copy(node):
        return False
    if is_device_tensor(context, node):
        return True
    kind = context.values.of(node).kind
    return kind is Kind.TENSOR and context.placement.on_accelerator(node)
