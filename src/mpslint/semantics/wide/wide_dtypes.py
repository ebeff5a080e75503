"""Where code asks a device for a dtype that MPS lacks (float64, complex128).

Three ways lead there: a tensor is created on the device with the dtype, one on the device is
cast to it, or one that has it already is moved.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.records import NamedTuple
from mpslint.semantics.context import Context
from mpslint.semantics.destinations.destinations import (
    NOT_ON_MPS,
    device_argument,
    may_be_mps,
)
from mpslint.semantics.operands.operand_pairs import wants_tensor
from mpslint.semantics.operands.sent_to_host import is_sent_to_host
from mpslint.semantics.purpose.caught_errors import is_caught
from mpslint.semantics.steps.forward_inputs import from_forward
from mpslint.semantics.syntax.expressions import keyword, last_name
from mpslint.semantics.terms.value import Kind
from mpslint.semantics.worlds.machines import MACS

_CAST_METHODS = {"double": "float64", "cdouble": "complex128"}
_PASSING = ("detach", "contiguous", "clone", "squeeze", "unsqueeze", "flatten", "reshape", "view")
_MOVED = frozenset({"cuda"})
"""What `.cuda()` gives: on MPS once that asks for the machine's own device."""
_PARAMETERS = ("torch.nn.Parameter", "torch.nn.parameter.Parameter")
_DEPTH = 4
"""So many names and calls lie between a parameter and what is made of it."""
_FROM_ARRAYS = ("from_numpy", "tensor", "as_tensor", "asarray")


class Request(NamedTuple):
    """One place that would raise on MPS."""

    how: str
    """created, cast or moved."""
    call: ast.Call
    dtype: ast.expr | None
    """The dtype as written, None where a method (`.double()`) or the data decides it."""
    device: ast.expr | None
    """The device that the call is given."""
    base: ast.expr | None
    """The tensor (or module) that a cast or a move is made of."""
    certain: bool
    """Follows from what is written, not from what a value seems to be."""


def requests(context: Context, wide: str) -> Iterator[Request]:
    """All requests for `wide` (`float64`, `complex128`) that may come to an MPS device, and end the
    program there."""
    if _checks_gradients(context):
        return
    for request in _written(context, wide):
        if not is_caught(context, request.call, "TypeError"):
            if not is_sent_to_host(context, request.call) and _has_macs(context, request.call):
                yield request


def _has_macs(context: Context, node: ast.AST) -> bool:
    """Whether a Mac gets as far as a place: not past a kernel of CUDA's that the file, or a module
    that this imports, cannot do without."""
    return bool(context.worlds.comes_to(node) & MACS)


def _written(context: Context, wide: str) -> Iterator[Request]:
    yield from _created(context, wide)
    for method, dtype in _CAST_METHODS.items():
        if dtype == wide:
            yield from _cast_by_name(context, method)
    for name in ("to", "type"):
        for call in context.index.calls.get(name, ()):
            if isinstance(call.func, ast.Attribute) and context.resolve(call.func) is None:
                yield from _to(context, call, wide)


def reached(context: Context, call: ast.Call, wide: str) -> Request | None:
    """The request of a call by which something wide comes to a device, or is made wide there."""
    if isinstance(call.func, ast.Attribute) and context.resolve(call.func) is None:
        base = call.func.value
        if _CAST_METHODS.get(call.func.attr) == wide:
            return Request("cast", call, None, None, base, False)
        cast = context.dtypes.cast_of_to(call) if call.func.attr in ("to", "type") else None
        if cast is not None and device_argument(context, call) in (None, cast):
            return Request("cast", call, cast, None, base, False)
    return arrival(context, call)


def arrival(context: Context, call: ast.Call) -> Request | None:
    """The request of a call by which a wide tensor comes to a device without saying so."""
    device = device_argument(context, call)
    if device is None or keyword(call, "dtype") is not None or not may_be_mps(context, device):
        return None
    moves = isinstance(call.func, ast.Attribute) and call.func.attr == "to"
    if not moves:
        return Request("created", call, None, device, None, False)
    if len(call.args) > 1:
        return None
    assert isinstance(call.func, ast.Attribute)
    return Request("moved", call, None, device, call.func.value, False)


def _checks_gradients(context: Context) -> bool:
    """Whether the file checks gradients numerically, which needs float64 and no MPS."""
    if any("gradcheck" in name.lower() for name in context.index.calls):
        return True
    return any(
        item.arg is not None and "gradcheck" in item.arg for item in context.index.of(ast.keyword)
    )


def _created(context: Context, wide: str) -> Iterator[Request]:
    for item in context.index.of(ast.keyword):
        if item.arg != "dtype" or context.dtypes.torch_dtype(item.value) != wide:
            continue
        call = context.index.parents[item]
        if not isinstance(call, ast.Call) or last_name(call.func) in ("to", "type"):
            continue
        name = context.resolve(call.func)
        if name is not None and not name.startswith("torch."):
            continue
        device = keyword(call, "device")
        if may_be_mps(context, device) and not context.guards.has(call, *NOT_ON_MPS):
            yield Request("created", call, item.value, device, None, True)
        elif device is None and name is not None and name.endswith("_like") and call.args:
            like = call.args[0]
            if _on_mps(context, like, call):
                yield Request("cast", call, item.value, None, like, False)


def _cast_by_name(context: Context, method: str) -> Iterator[Request]:
    for call in context.index.calls.get(method, ()):
        if not isinstance(call.func, ast.Attribute) or call.args or call.keywords:
            continue
        base = call.func.value
        if _is_own_method(context, method) and context.values.of(base).kind is Kind.UNKNOWN:
            continue
        if goes_to_host(context, call) is None and _on_mps(context, base, call):
            yield Request("cast", call, None, None, base, False)


def _is_own_method(context: Context, name: str) -> bool:
    """Whether a class of the file that is no module has a method of this name: what it is asked of
    may be an object of that class."""
    return any(
        function.name == name
        and isinstance(owner := context.index.parents.get(function), ast.ClassDef)
        and not context.values.is_module_class(owner)
        for function in context.index.functions()
    )


def _to(context: Context, call: ast.Call, wide: str) -> Iterator[Request]:
    assert isinstance(call.func, ast.Attribute)
    base, cast = call.func.value, context.dtypes.cast_of_to(call)
    device = device_argument(context, call) if call.func.attr == "to" else None
    if cast is not None and context.dtypes.torch_dtype(cast) == wide:
        if context.guards.has(call, *NOT_ON_MPS):
            return
        if device is not None and not _is_dtype(context, device):
            if may_be_mps(context, device):
                yield Request("cast", call, cast, device, base, True)
        elif goes_to_host(context, call) is None and _on_mps(context, base, call):
            yield Request("cast", call, cast, None, base, False)
    elif cast is None and device is not None and keyword(call, "dtype") is None:
        if len(call.args) > 1 or context.dtypes.tensor(base) != wide:
            return
        if may_be_mps(context, device) and not context.guards.has(call, *NOT_ON_MPS):
            yield Request("moved", call, None, device, base, False)


def _is_dtype(context: Context, node: ast.expr) -> bool:
    return context.dtypes.torch_dtype(node) is not None


def _on_mps(context: Context, base: ast.expr, at: ast.AST) -> bool:
    """Whether a tensor or module may be on MPS: known from its making, or an input of `forward`."""
    value = context.values.of(base)
    if value.kind not in (Kind.TENSOR, Kind.MODULE, Kind.UNKNOWN):
        return False
    if context.guards.has(at, *NOT_ON_MPS):
        return False
    if value.devices is not None:
        return "mps" in value.devices or value.devices == _MOVED
    return value.kind is not Kind.MODULE and (
        from_forward(context, base) or _is_of_parameter(context, base)
    )


def _is_of_parameter(context: Context, value: ast.expr | None, depth: int = _DEPTH) -> bool:
    """Whether a value is a parameter of the module, or made of one: `torch.tril(self.weight)`, and
    what that is added to."""
    if value is None or not depth:
        return False
    if isinstance(value, ast.Attribute):
        return _is_parameter(context, value)
    if isinstance(value, ast.Name):
        bindings = context.flow.reaching(value)
        if len(bindings) != 1 or bindings[0].kind != "assign":
            return False
        return _is_of_parameter(context, bindings[0].value, depth - 1)
    if isinstance(value, ast.BinOp):
        return any(_is_of_parameter(context, one, depth - 1) for one in (value.left, value.right))
    if isinstance(value, ast.Call) and wants_tensor(context, value):
        return _is_of_parameter(context, value.args[0], depth - 1)
    return False


def _is_parameter(context: Context, base: ast.expr) -> bool:
    """Whether a method of a module reads one of its parameters, which lie where the module was
    moved: `self.weight`, where some method says `self.weight = nn.Parameter(...)`."""
    if not isinstance(base, ast.Attribute) or not isinstance(base.value, ast.Name):
        return False
    function = context.index.function(base)
    klass = context.index.parents[function] if function is not None else None
    if function is None or function.name == "__init__" or not isinstance(klass, ast.ClassDef):
        return False
    if base.value.id != "self" or not context.values.is_module_class(klass):
        return False
    made = [
        parent.value
        for use in context.index.attributes.get(base.attr, ())
        if isinstance(use.ctx, ast.Store) and context.index.within(use, klass)
        for parent in (context.index.parents[use],)
        if isinstance(parent, ast.Assign)
    ]
    return bool(made) and all(
        isinstance(one, ast.Call) and context.resolve(one.func) in _PARAMETERS for one in made
    )


def goes_to_host(context: Context, call: ast.Call) -> ast.Call | None:
    """The `.cpu()` or `.to("cpu")` that follows in the chain of `call`, or a `.numpy()`."""
    node: ast.AST = call
    while True:
        attribute = context.index.parents[node]
        following = context.index.parents.get(attribute)
        if not isinstance(attribute, ast.Attribute) or not isinstance(following, ast.Call):
            return None
        if following.func is not attribute:
            return None
        if attribute.attr in ("cpu", "numpy"):
            return following
        if attribute.attr == "to" and following.args:
            types = context.values.of(following.args[0]).devices
            return following if types == frozenset({"cpu"}) else None
        if attribute.attr not in _PASSING:
            return None
        node = following


def array_origin(context: Context, base: ast.expr) -> ast.Call | None:
    """The `torch.from_numpy(...)` (or `torch.tensor`) that gave `base` an array's dtype."""
    for _ in range(12):
        if isinstance(base, ast.Name):
            bindings = context.flow.reaching(base)
            if len(bindings) != 1 or bindings[0].value is None:
                return None
            base = bindings[0].value
        elif isinstance(base, ast.Call):
            name = context.resolve(base.func)
            if name is not None:
                last = name.rsplit(".", 1)[-1]
                return base if last in _FROM_ARRAYS and keyword(base, "dtype") is None else None
            if isinstance(base.func, ast.Attribute) and base.func.attr == "double":
                return None  # Whatever the array is, the cast makes it float64.
            base = base.func
        elif isinstance(base, ast.Attribute | ast.Subscript):
            base = base.value
        elif isinstance(base, ast.BinOp):
            base = base.left
        else:
            return None
    return None
