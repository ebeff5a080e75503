"""Tensors that are made on the CPU from sizes or constants alone, and moved as they are.

`torch.arange(n).to(x.device)`: nothing of what is copied comes from the host but the number `n`, so
the device could fill the tensor itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.facts.priors import names_device
from mpslint.records import NamedTuple
from mpslint.semantics.operands.tensor_uses import used_as_tensor
from mpslint.semantics.reads.host_factories import (
    DRAWN,
    OF_VALUES,
    is_empty,
    is_one_number,
    is_written_index,
    is_written_out,
    last_part,
    made_on_host,
)
from mpslint.semantics.syntax.expressions import argument, keyword, last_name, maker
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.terms.value import CPU_ONLY, Kind
from mpslint.semantics.uses.own_attributes import is_stored_outside_init, stored

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


_CACHES = ("functools.lru_cache", "functools.cache")


class Move(NamedTuple):
    call: ast.Call
    """`.to(device)`, `.type_as(x)` or `x.copy_(...)`; or the factory, where that copies"""
    factory: ast.Call
    drawn: bool
    """It is filled with random numbers, which would be others on the device."""


def moves(context: Context) -> Iterator[Move]:
    """Moves of such tensors to a device that is not only the CPU."""
    for call in (*context.index.calls.get("to", ()), *context.index.calls.get("type_as", ())):
        made = (
            made_on_host(context, call.func.value, call)
            if isinstance(call.func, ast.Attribute)
            else None
        )
        if made is None or is_empty(made) or not _goes_to_device(context, call):
            continue
        if _is_constant(made) and _is_default_of_result(context, call):
            continue
        if not _is_kept(context, call) and not _stands_in(context, call):
            yield Move(call, made, last_part(made) in DRAWN)
    for call in context.index.calls.get("copy_", ()):
        if not isinstance(call.func, ast.Attribute) or not call.args or _waits_not(call):
            continue
        made = made_on_host(context, call.args[0], call)
        into = context.values.of(call.func.value)
        if made is not None and into.kind is Kind.TENSOR and into.may_be_on_accelerator:
            yield Move(call, made, last_part(made) in DRAWN)


def constants(context: Context) -> Iterator[Move]:
    """Tensors of numbers that the code writes out, or of one that is reckoned with sizes, which
    `torch.tensor([1], device=device)` makes on the CPU and copies."""
    for call in context.calls_of("torch.tensor", "torch.as_tensor"):
        place = keyword(call, "device")
        if place is None or not call.args:
            continue
        if not is_written_out(call.args[0]) and (
            not is_one_number(context, call.args[0]) or _is_read_back(context, call)
        ):
            continue
        if context.values.device_types(place) == CPU_ONLY or _is_host_off_cuda(context, place):
            continue
        if _is_default_of_result(context, call):
            continue
        if not _is_kept(context, call) and not _stands_in(context, call):
            yield Move(call, call, drawn=False)


_READING = ("item", "float", "int", "all_reduce", "reduce")


def _is_read_back(context: Context, call: ast.Call) -> bool:
    """`n = torch.as_tensor([n], device=device)`, which processes add up, or which is read back:
    that is told where it is read."""
    statement = context.index.statement(call)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    function = context.index.function(call)
    return any(
        last_name(parent.func) in _READING
        for target in targets
        if isinstance(target, ast.Name)
        for use in context.index.names.get(target.id, ())
        if use is not target and context.index.function(use) is function
        for parent in _around(context, use)
    )


_OF_MODULES = ("Parameter", "Buffer")
"""Fact: what `Module.to` moves along, by the classes of `torch.nn.parameter`."""


def kept_on_host(context: Context) -> Iterator[ast.Call]:
    """`self.mean.to(x.device)` in a module that keeps `mean` as a plain attribute on the CPU, be it
    one of its class, where a buffer would move with the module; and `MEAN.to(x.device)` of a
    constant of the file."""
    for call in (*context.index.calls.get("to", ()), *context.index.calls.get("type_as", ())):
        kept = call.func.value if isinstance(call.func, ast.Attribute) else None
        while isinstance(kept, ast.Subscript) and is_written_index(kept.slice):
            kept = kept.value
        klass = context.index.enclosing(call, ast.ClassDef)
        if kept is None or not isinstance(klass, ast.ClassDef):
            continue
        constant = _constant(context, kept, klass)
        if constant is None and not (isinstance(kept, ast.Attribute) and _is_own(kept)):
            continue
        value = context.values.of(kept if constant is None else constant)
        if value.kind is not Kind.TENSOR or not value.on_cpu:
            continue
        if not context.values.is_module_class(klass) or not _goes_to_device(context, call):
            continue
        if _is_kept(context, call):
            continue
        if constant is not None:
            yield call
            continue
        assert isinstance(kept, ast.Attribute)
        if is_stored_outside_init(context, kept):
            continue
        if not any(_is_part(context, made) for made in stored(context, kept)):
            yield call


def _constant(context: Context, node: ast.expr, klass: ast.ClassDef) -> ast.expr | None:
    """What the file gives, once, to a constant of the module, or of the class around."""
    if isinstance(node, ast.Name):
        bindings = context.names.bindings(node.id, node)
        scope = context.names.owner(node.id, node)
        if len(bindings) == 1 and bindings[0].kind == "assign" and scope is context.names.module:
            return bindings[0].value
        return None
    if not isinstance(node, ast.Attribute) or not _is_own(node) or any(stored(context, node)):
        return None
    given = [
        item.value
        for item in klass.body
        if isinstance(item, ast.Assign)
        and any(isinstance(name, ast.Name) and name.id == node.attr for name in item.targets)
    ]
    return given[0] if len(given) == 1 else None


def _is_own(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "self"


def _is_part(context: Context, made: ast.expr) -> bool:
    """Whether what is stored moves with the module: a parameter or a buffer, be it by a function of
    the file that returns one."""
    if not isinstance(made, ast.Call):
        return False
    if last_name(made.func) in _OF_MODULES:
        return True
    bound = (
        context.names.bindings(made.func.id, made.func) if isinstance(made.func, ast.Name) else ()
    )
    return any(
        isinstance(item.value, ast.Call) and last_name(item.value.func) in _OF_MODULES
        for binding in bound
        if isinstance(binding.node, FUNCTIONS)
        for item in ast.walk(binding.node)
        if isinstance(item, ast.Return)
    )


def _goes_to_device(context: Context, call: ast.Call) -> bool:
    if _waits_not(call):
        return False
    place = argument(call, 0, "device")
    if place is None:
        return False
    if _is_host_off_cuda(context, place):
        return False
    value = context.values.of(place)
    if value.kind in (Kind.DEVICE, Kind.DEVICE_STRING):
        return value.devices != CPU_ONLY
    if value.kind is Kind.TENSOR:
        return not value.on_cpu
    if value.kind is not Kind.UNKNOWN or not isinstance(place, ast.Name | ast.Attribute):
        return False
    if isinstance(call.func, ast.Attribute) and call.func.attr == "type_as":
        return True  # It takes tensors alone.
    word = place.id if isinstance(place, ast.Name) else place.attr
    return names_device(word) or used_as_tensor(context, place)


def _is_host_off_cuda(context: Context, place: ast.expr) -> bool:
    """`x.get_device() if x.is_cuda else "cpu"`: a Mac's tensors have it made on the CPU, where it
    stays."""
    if isinstance(place, ast.Name):
        bindings = context.flow.reaching(place)
        given = bindings[0].value if len(bindings) == 1 else None
        place = given if given is not None else place
    return (
        isinstance(place, ast.IfExp)
        and isinstance(place.test, ast.Attribute)
        and place.test.attr == "is_cuda"
        and context.values.device_types(place.orelse) == CPU_ONLY
    )


def _waits_not(call: ast.Call) -> bool:
    flag = keyword(call, "non_blocking")
    return isinstance(flag, ast.Constant) and flag.value is True


def _is_kept(context: Context, call: ast.Call) -> bool:
    """Whether the object or a table keeps what is moved, so that it is made once; or some test asks
    whether it is there already."""
    if _is_cached(context, call):
        return True
    statement = context.index.statement(call)
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign | ast.AugAssign):
        targets = [statement.target]
    if any(isinstance(target, ast.Attribute | ast.Subscript) for target in targets):
        return not _is_worked_on_each_time(context, call, statement)
    if "register_buffer" in {context.values.last_name(p.func) for p in _around(context, call)}:
        return True
    names = {target.id for target in targets if isinstance(target, ast.Name)}
    function = context.index.function(call)
    return any(
        isinstance(store, ast.Assign)
        and isinstance(store.value, ast.Name)
        and store.value.id in names
        and any(isinstance(target, ast.Attribute | ast.Subscript) for target in store.targets)
        for name in names
        for use in context.index.names.get(name, ())
        if context.index.function(use) is function
        for store in (context.index.parents[use],)
    )


def _is_cached(context: Context, call: ast.Call) -> bool:
    """Whether `functools.lru_cache` keeps what the function around makes."""
    function = context.index.function(call)
    return function is not None and any(
        (context.resolve(maker(decorator)) or "") in _CACHES
        for decorator in function.decorator_list
    )


def _is_worked_on_each_time(context: Context, call: ast.Call, statement: ast.stmt) -> bool:
    """Whether an object keeps only what its module makes of what is moved, and does so at each
    call: `self.places = self.embed(torch.ones(n).to(x))`, under no test."""
    given = (parent for parent in _around(context, call) if call in parent.args)
    function = context.index.function(call)
    if function is None or statement not in function.body:
        return False
    return any(context.resolve(parent.func) is None for parent in given)


def _stands_in(context: Context, call: ast.Call) -> bool:
    """Whether this is made only where something else is left out (`if mask is None`), or some test
    has it take the place of an argument."""
    child: ast.AST = call
    argument = _replaced_argument(context, call)
    for parent in context.index.ancestors(call):
        if isinstance(parent, FUNCTIONS):
            return False
        if isinstance(parent, ast.If | ast.IfExp) and child is not parent.test:
            if any(
                (isinstance(item, ast.Name) and item.id == argument)
                or (isinstance(item, ast.Compare) and isinstance(item.ops[0], ast.Is | ast.IsNot))
                for item in ast.walk(parent.test)
            ):
                return True
        child = parent
    return False


def _is_constant(made: ast.Call) -> bool:
    return last_part(made) in OF_VALUES and is_written_out(made.args[0])


def _is_default_of_result(context: Context, call: ast.Call) -> bool:
    """Whether a constant is what comes out where nothing is computed: it is handed back as it is,
    or given to a name that another arm computes."""
    statement = context.index.statement(call)
    if isinstance(statement, ast.Return):
        return statement.value is call
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    names = {item.id for item in targets if isinstance(item, ast.Name)}
    child: ast.AST = statement
    for parent in context.index.ancestors(statement):
        if isinstance(parent, FUNCTIONS):
            return False
        if isinstance(parent, ast.If):
            other = parent.orelse if child in parent.body else parent.body
            bound = (item for arm in other for item in ast.walk(arm) if isinstance(item, ast.Name))
            if any(isinstance(item.ctx, ast.Store) and item.id in names for item in bound):
                return True
        child = parent
    return False


def _replaced_argument(context: Context, call: ast.Call) -> str | None:
    """`mask` of `mask = torch.ones(n).to(x.device)` in a function that is given a `mask`."""
    statement = context.index.statement(call)
    function = context.index.function(call)
    if function is None or not isinstance(statement, ast.Assign):
        return None
    given = {item.arg for item in (*function.args.args, *function.args.kwonlyargs)}
    for target in statement.targets:
        if isinstance(target, ast.Name) and target.id in given:
            read = (item.id for item in ast.walk(statement.value) if isinstance(item, ast.Name))
            return None if target.id in read else target.id
    return None


def _around(context: Context, node: ast.AST) -> Iterator[ast.Call]:
    for parent in context.index.ancestors(node):
        if isinstance(parent, ast.stmt | ast.Lambda):
            return
        if isinstance(parent, ast.Call):
            yield parent
