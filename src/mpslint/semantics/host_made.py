"""Tensors that are made on the CPU from sizes alone, and moved to the device as they are.

`torch.arange(n).to(x.device)`: nothing of what is copied comes from the host but the number `n`, so
the device could fill the tensor itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from mpslint.facts.priors import names_device
from mpslint.semantics.index import FUNCTIONS
from mpslint.semantics.value import CPU_ONLY, Kind
from mpslint.semantics.value_syntax import keyword

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


DRAWN = _words("rand randn randint randperm")
FILLED = DRAWN | _words(
    """
    zeros ones full empty eye arange range linspace logspace tril_indices triu_indices
    hann_window hamming_window bartlett_window blackman_window kaiser_window
    """
)
_MADE_OF = _words("tensor as_tensor LongTensor IntTensor FloatTensor Tensor BoolTensor from_numpy")
_COUNTING = _words(
    """
    range arange zeros ones full eye linspace concatenate repeat tile list tuple len int size
    array astype reshape
    """
)
"""Functions of Python and NumPy that make numbers of sizes, and put such numbers together."""
_COUNTED = _words("range arange zeros ones full eye linspace")
_SIZED = _words("zeros ones empty rand randn")
"""Factories whose arguments are all sizes."""
_KEEPING = _words(
    """
    unsqueeze squeeze view reshape expand repeat float long int bool half double t transpose
    permute flatten contiguous clone fill_ tril triu mul add sub div mul_ add_ sub_ div_
    requires_grad_ type_as eq ne gt lt ge le
    """
)
"""Methods that need no more than the tensor and numbers."""


class Move(NamedTuple):
    call: ast.Call
    """`.to(device)`"""
    factory: ast.Call
    drawn: bool
    """It is filled with random numbers, which would be others on the device."""


def moves(context: Context) -> Iterator[Move]:
    """Moves of such tensors to a device that is not only the CPU."""
    for call in context.index.calls.get("to", ()):
        made = (
            _made(context, call.func.value, call) if isinstance(call.func, ast.Attribute) else None
        )
        if made is None or _is_empty(made) or not _goes_to_device(context, call):
            continue
        if not _is_kept(context, call) and not _stands_in(context, call):
            yield Move(call, made, _last(made) in DRAWN)


def _is_empty(factory: ast.Call) -> bool:
    """Whether a tensor has no element, so that its copy moves nothing and waits for nothing."""
    name, first = _last(factory), factory.args[0] if factory.args else None
    listed = first.elts if isinstance(first, ast.List | ast.Tuple) else None
    if name in _SIZED:
        sizes = listed if listed is not None else factory.args
    elif name == "full":
        sizes = listed or []
    elif name == "arange":
        sizes = factory.args if len(factory.args) == 1 else []
    else:
        return listed == []
    return any(isinstance(size, ast.Constant) and size.value == 0 for size in sizes)


def _last(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ast.unparse(call.func)


def _goes_to_device(context: Context, call: ast.Call) -> bool:
    flag = keyword(call, "non_blocking")
    if isinstance(flag, ast.Constant) and flag.value is True:
        return False
    place = keyword(call, "device") or (call.args[0] if call.args else None)
    if place is None:
        return False
    value = context.values.of(place)
    if value.kind in (Kind.DEVICE, Kind.DEVICE_STRING):
        return value.devices != CPU_ONLY
    if value.kind is Kind.TENSOR:
        return not value.on_cpu
    return (
        value.kind is Kind.UNKNOWN
        and isinstance(place, ast.Name | ast.Attribute)
        and (names_device(place.id if isinstance(place, ast.Name) else place.attr))
    )


def _made(context: Context, node: ast.expr, move: ast.Call) -> ast.Call | None:
    """The factory at the root of a chain, or of what a name was given that only `move` reads."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if _fills(context, node):
            return node
        if node.func.attr not in _KEEPING:
            return None
        node = node.func.value
    if isinstance(node, ast.Call):
        return node if _fills(context, node) else None
    if not isinstance(node, ast.Name):
        return None
    bindings = context.flow.reaching(node)
    value = bindings[0].value if len(bindings) == 1 and bindings[0].kind == "assign" else None
    function = context.index.function(move)
    if not isinstance(value, ast.Call) or context.index.function(value) is not function:
        return None
    made = _made(context, value, move) if function is not None else None
    if made is None:
        return None
    scope = context.names.owner(node.id, node)
    for use in context.index.names.get(node.id, ()):
        if use is node or not isinstance(use.ctx, ast.Load):
            continue
        if context.names.owner(node.id, use) is scope and bindings[0] in context.flow.reaching(use):
            return None  # It is used on the CPU as well.
    return made


def _fills(context: Context, call: ast.Call) -> bool:
    name = context.resolve(call.func) or ""
    last = name.removeprefix("torch.")
    if not name.startswith("torch.") or context.values.of(call).devices != CPU_ONLY:
        return False
    if any(keyword(call, word) is not None for word in ("device", "generator", "pin_memory")):
        return False
    if last in FILLED:
        return True
    return last in _MADE_OF and bool(call.args) and _is_counted(context, call.args[0])


def _is_counted(context: Context, node: ast.expr) -> bool:
    """Whether `range`, or NumPy's functions of that kind, make all of it: no data."""
    calls = [item for item in ast.walk(node) if isinstance(item, ast.Call)]
    names = [context.values.last_name(item.func) for item in calls]
    return any(name in _COUNTED for name in names) and all(name in _COUNTING for name in names)


def _is_kept(context: Context, call: ast.Call) -> bool:
    """Whether the object or a table keeps what is moved, so that it is made once; or some test asks
    whether it is there already."""
    statement = context.index.statement(call)
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign | ast.AugAssign):
        targets = [statement.target]
    if any(isinstance(target, ast.Attribute | ast.Subscript) for target in targets):
        return True
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


def _stands_in(context: Context, call: ast.Call) -> bool:
    """Whether this is made only where something else is left out (`if mask is None`)."""
    child: ast.AST = call
    for parent in context.index.ancestors(call):
        if isinstance(parent, FUNCTIONS):
            return False
        if isinstance(parent, ast.If | ast.IfExp) and child is not parent.test:
            if any(
                isinstance(item, ast.Compare) and isinstance(item.ops[0], ast.Is | ast.IsNot)
                for item in ast.walk(parent.test)
            ):
                return True
        child = parent
    return False


def _around(context: Context, node: ast.AST) -> Iterator[ast.Call]:
    for parent in context.index.ancestors(node):
        if isinstance(parent, ast.stmt | ast.Lambda):
            return
        if isinstance(parent, ast.Call):
            yield parent
