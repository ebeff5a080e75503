"""Whether what names a device is a `torch.device` for certain, or text, so that it may be asked for
its type in the right words: a str has no `.type`, and None has neither.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mpslint.semantics.destinations.destinations import is_device_of_tensor
from mpslint.semantics.destinations.selected_devices import all_calls
from mpslint.semantics.names.flow import leaves
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.syntax.methods import only_method_of_self
from mpslint.semantics.syntax.parameters import given_for
from mpslint.semantics.syntax.ways_through import ends_every_way
from mpslint.semantics.terms.value import Kind
from mpslint.semantics.uses.defined import asked_for

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.names.names import Binding
    from mpslint.semantics.syntax.index import FunctionNode

_DEPTH = 6
_KIND = "torch.device"
_ASSIGNED = ("assign", "annotate", "walrus")
_TELLING_APART = ("isinstance", "hasattr", "getattr", "type")


def surely_device(context: Context, device: ast.expr, depth: int = _DEPTH) -> bool:
    """Whether the expression is a `torch.device` (and no str or None), so that it has `.type`."""
    if depth <= 0:
        return False
    if isinstance(device, ast.Name):
        return surely_devices(context, context.flow.reaching(device), depth)
    if isinstance(device, ast.IfExp):
        return all(surely_device(context, x, depth - 1) for x in (device.body, device.orelse))
    if isinstance(device, ast.Call):
        return context.resolve(device.func) == _KIND or _is_returned(context, device, depth)
    if isinstance(device, ast.Attribute):
        if is_device_of_tensor(context, device):
            return True
        if (given := _property(context, device)) is not None:
            return _returned_devices(context, given, depth - 1)
        assigned = context.guards.assigned(device)
        return bool(assigned) and all(surely_device(context, x, depth - 1) for x in assigned)
    return False


def surely_devices(context: Context, bindings: Sequence[Binding], depth: int = _DEPTH) -> bool:
    """The same for a name that one of these gives its value."""
    return bool(bindings) and all(_binds_device(context, one, depth) for one in bindings)


def written_texts(context: Context, values: Sequence[ast.expr | None]) -> list[str] | None:
    """The texts, one of which a device is, as far as they are written out: `"cuda:"` for
    `f"cuda:{rank}"`; None: it may be something else."""
    texts: list[str] = []
    for value in values:
        found = _texts(context, value)
        if found is None:
            return None
        texts += found
    return texts or None


def _texts(context: Context, value: ast.expr | None) -> list[str] | None:
    if isinstance(value, ast.Constant):
        return [value.value] if isinstance(value.value, str) else None
    if isinstance(value, ast.IfExp):
        return written_texts(context, (value.body, value.orelse))
    if isinstance(value, ast.JoinedStr):
        return _texts(context, value.values[0]) if value.values else None
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mod | ast.Add):
        return _texts(context, value.left)
    called = value.func if isinstance(value, ast.Call) else None
    if isinstance(called, ast.Attribute) and called.attr == "format":
        return _texts(context, called.value)
    return None


def is_text(context: Context, value: ast.expr) -> bool:
    """Whether a device is text wherever it is read."""
    kind = context.values.of(value).kind
    return kind in (Kind.DEVICE_STRING, Kind.STRING) or told_text(context, value)


def may_be_text(context: Context, bindings: Sequence[Binding]) -> bool:
    """Whether what one of these parameters is given may be text: it is none where it is a device
    for certain, or all who call the function are seen and give none."""
    return any(
        isinstance(one.node, ast.arg)
        and not _binds_device(context, one, _DEPTH)
        and _is_given_text(context, one.node) is not False
        for one in bindings
    )


def told_text(context: Context, value: ast.expr | None, depth: int = _DEPTH) -> bool:
    """Whether a device is text as far as the file says: written out, or a parameter `device: str`,
    which may be None until it is set."""
    if _texts(context, value) is not None:
        return True
    if not isinstance(value, ast.Name) or depth <= 0:
        return False
    bindings = context.flow.reaching(value)
    return bool(bindings) and all(
        _is_declared_text(context, one.node)
        or (one.kind in _ASSIGNED and told_text(context, one.value, depth - 1))
        for one in bindings
    )


def _is_declared_text(context: Context, node: ast.AST) -> bool:
    """`device: str`, also `Optional[str]` and `str | None`."""
    if not isinstance(node, ast.arg) or node.annotation is None:
        return False
    kind = node.annotation
    if isinstance(kind, ast.Subscript) and context.resolve(kind.value) == "typing.Optional":
        kind = kind.slice
    elif isinstance(kind, ast.BinOp) and isinstance(kind.right, ast.Constant):
        kind = kind.left if kind.right.value is None else kind
    return isinstance(kind, ast.Name) and kind.id == "str"


def _binds_device(context: Context, binding: Binding, depth: int) -> bool:
    if isinstance(binding.node, ast.arg):
        return (
            is_declared(context, binding.node, binding.value)
            or _is_read_as_device(context, binding)
            or _is_given_devices(context, binding, depth)
        )
    return (
        binding.kind in _ASSIGNED
        and binding.value is not None
        and surely_device(context, binding.value, depth - 1)
    )


def is_declared(context: Context, node: ast.arg, default: ast.expr | None) -> bool:
    """`device: torch.device`, a parameter without a default that says otherwise, for which nobody
    in the project gives text."""
    if node.annotation is None or isinstance(default, ast.Constant):
        return False
    return context.resolve(node.annotation) == _KIND and not _is_given_text(context, node)


def _is_given_text(context: Context, parameter: ast.arg) -> bool | None:
    """Whether anybody in the project gives a parameter text, whatever its annotation says; None:
    it is not known of each who calls."""
    function, around = context.index.function(parameter), context.elsewhere
    if not isinstance(function, FUNCTIONS) or around is None:
        return None
    asked = asked_for(context, function, parameter)
    return around.gives_text(context.source.path, asked) if asked is not None else None


def _is_read_as_device(context: Context, binding: Binding) -> bool:
    """Whether the function asks its parameter for `.type`, and never what it is: `device.type`
    would raise for a str."""
    assert isinstance(binding.node, ast.arg)
    name, function = binding.node.arg, context.index.function(binding.node)
    if function is None or binding.value is not None:
        return False
    reads = [
        use
        for use in context.index.names.get(name, ())
        if context.index.function(use) is function and context.flow.reaching(use) == (binding,)
    ]
    around = [context.index.parents[use] for use in reads]
    if any(
        isinstance(one, ast.Call)
        and isinstance(one.func, ast.Name)
        and one.func.id in _TELLING_APART
        for one in around
    ):
        return False
    return any(
        isinstance(one, ast.Attribute)
        and one.attr == "type"
        and always_runs(context, one, function)
        for one in around
    )


def always_runs(context: Context, node: ast.AST, function: ast.AST) -> bool:
    """Whether nothing of the function decides whether a node runs, but for a loop around it."""
    child = node
    for parent in context.index.ancestors(node):
        if parent is function:
            return True
        decides = isinstance(parent, ast.If | ast.IfExp | ast.While) and child is not parent.test
        if decides or isinstance(parent, ast.Try | ast.Lambda | ast.Match):
            return False
        if isinstance(parent, ast.BoolOp) and child is not parent.values[0]:
            return False
        child = parent
    return False


def _is_given_devices(context: Context, binding: Binding, depth: int) -> bool:
    """Whether all who call the function are seen, and give it a `torch.device`."""
    node = binding.node
    assert isinstance(node, ast.arg)
    function = context.index.function(node)
    if not isinstance(function, FUNCTIONS) or depth <= 0:
        return False
    if context.index.parents[function] is not context.tree:
        return False
    calls = all_calls(context, function)
    if calls is None:
        return False
    handed = [
        given_for(function.args, call, node.arg, skipped=0) or binding.value for call in calls
    ]
    return all(one is not None and surely_device(context, one, depth - 1) for one in handed)


def _is_returned(context: Context, call: ast.Call, depth: int) -> bool:
    """Whether a function, of this file or its project, returns nothing but a `torch.device`."""
    name = call.func.id if isinstance(call.func, ast.Name) else None
    here = context.names.bindings(name, call) if name is not None else []
    if len(here) == 1 and isinstance(here[0].node, FUNCTIONS):
        return _returns_device(context, here[0].node, depth - 1)
    qualified = context.resolve(call.func)
    found = context.definition_elsewhere(qualified) if qualified is not None else None
    if found is None or len(found.bindings) != 1:
        return False
    function = found.bindings[0].node
    return isinstance(function, FUNCTIONS) and _returns_device(found.context, function, depth - 1)


def _property(context: Context, read: ast.Attribute) -> FunctionNode | None:
    """The method that gives `self.device` as a property of the class around."""
    found = only_method_of_self(context.index, read)
    if found is None or len(found.decorator_list) != 1:
        return None
    (mark,) = found.decorator_list
    is_property = isinstance(mark, ast.Name) and mark.id == "property"
    return found if is_property or context.resolve(mark) == "functools.cached_property" else None


def _returns_device(context: Context, function: FunctionNode, depth: int) -> bool:
    if function.decorator_list:
        return False
    return _returned_devices(context, function, depth)


def _returned_devices(context: Context, function: FunctionNode, depth: int) -> bool:
    """Whether a function, whatever marks it, returns nothing but a `torch.device`."""
    if isinstance(function, ast.AsyncFunctionDef):
        return False
    returned = [one.value for one in context.index.returns(function)]
    if function.returns is not None and context.resolve(function.returns) == _KIND:
        return all(written_texts(context, [value]) is None for value in returned)
    if not returned or not _leaves(function.body):
        return False  # It comes back with None where it falls off its end.
    return all(value is not None and surely_device(context, value, depth) for value in returned)


def _leaves(block: Sequence[ast.stmt]) -> bool:
    """Whether a block of a function never goes on behind its end: `leaves`, and the statements
    with arms that it does not look into."""
    return leaves(block) or any(ends_every_way(one, _leaves) for one in block)
