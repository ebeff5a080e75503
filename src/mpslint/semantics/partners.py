"""The tensor that a moved one is computed with: both have to be on one device, whichever it is.

`weight = torch.ones(n).cuda()` and, further down, `loss * weight`: on CUDA `loss` is there as well,
or the product would raise. So `loss.device` is where `weight` belongs on every machine.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.operand_pairs import GRAD, operand_pairs, wants_tensor

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.index import FunctionNode

_FOUND, _DEPTH = "partners of what is moved", 4
_OF_TENSORS = {
    "contiguous",
    "dim",
    "expand_as",
    "float",
    "long",
    "new",
    "size",
    "unsqueeze",
    "view",
}
"""Methods that a tensor has, and neither a number nor an array of NumPy."""
_SHAPED = {"contiguous", "expand_as", "size", "unsqueeze", "view"}
"""Those that nobody asks one number for, which may be on the CPU and meet tensors elsewhere."""
_REDUCING = {"max", "mean", "median", "min", "norm", "prod", "std", "sum", "var"}
_SAME = "torch.autograd.Variable"
"""A function of old torch that gives back the tensor that it is given."""
_ELSEWHERE = {"cpu", "cuda", "to", "numpy"}
_NO_TENSORS = {"item", "tolist", "size", "dim", "numel", "type", "new", "get_device"}


def partner(context: Context, node: ast.AST) -> str | None:
    """The name of a tensor that what is made, or moved, at `node` is computed with in its function,
    and that is bound when it runs; None: none is known for sure."""
    call = node if isinstance(node, ast.Call) else context.index.enclosing(node, ast.Call)
    known: dict[ast.Call, str | None] = context.memo.setdefault(_FOUND, {})  # type: ignore[assignment]
    if call is not None and call not in known:
        known[call] = _partner(context, call)
    return known[call] if call is not None else None


def _partner(context: Context, call: ast.expr) -> str | None:
    function = context.index.function(call)
    if function is None:
        return None
    own = _own_names(context, call)
    shaping = _shaping(call)
    for one, two in operand_pairs(context, function):
        for mine, other in ((one, two), (two, one)):
            if not _holds(context, mine, own, call):
                continue
            name = _root(context, other)
            if name is None or name in own:
                continue
            if name in shaping and _is_kept(context, function, name, call, other):
                return name
            given = _parameter(context, call, name)
            if given is not None and given not in own and _stays(context, function, given):
                if any(_is_tensor(context, function, known) for known in (name, given)):
                    return given
            if _is_result(context, function, name, call, other):
                return name
    return None


def _own_names(context: Context, call: ast.expr) -> frozenset[str]:
    """The name that gets what `call` gives."""
    statement = context.index.statement(call)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return frozenset()
    target, value = statement.targets[0], statement.value
    return frozenset(
        {target.id} if isinstance(target, ast.Name) and _gives(context, value, call) else ()
    )


def _holds(context: Context, operand: ast.expr, own: frozenset[str], call: ast.expr) -> bool:
    """Whether an operand is where what `call` gives is: `weight * 0.5 * alpha` is."""
    if isinstance(operand, ast.BinOp):
        sides = operand.left, operand.right
        return any(_holds(context, side, own, call) for side in sides)
    return _root(context, operand) in own or _gives(context, operand, call)


def _shaping(call: ast.expr) -> set[str]:
    """`x` of `torch.zeros(x.size()).cuda()`, which has a value there and is no number."""
    shaped = [
        node.value
        for node in ast.walk(call)
        if isinstance(node, ast.Attribute) and node.attr in ("size", "shape")
    ]
    # `x.data.size()` as people wrote it before torch 0.4
    held = [x.value if isinstance(x, ast.Attribute) and x.attr == "data" else x for x in shaped]
    return {node.id for node in held if isinstance(node, ast.Name)}


def _is_result(
    context: Context, function: FunctionNode, name: str, call: ast.expr, use: ast.expr
) -> bool:
    """Whether a name holds a tensor that something gave before, a model say, and holds it still
    where it is computed with: a copy of it elsewhere (`output.cpu()`) does not move it."""
    bindings = context.names.scope_of(call).bindings.get(name, [])
    return (
        len(bindings) == 1
        and bindings[0].kind == "assign"
        and isinstance(bindings[0].value, ast.Call)
        and context.flow.surely_bound(name, call)
        and (_is_differentiated(context, use) or bool(_asked(context, function, name) & _SHAPED))
        and _is_unchanged(context, function, name, call, use)
    )


def _is_differentiated(context: Context, use: ast.expr) -> bool:
    """`outputs` of `torch.autograd.grad`, which are tensors."""
    given = context.index.parents[use]
    call = context.index.parents[given]
    return isinstance(call, ast.Call) and context.resolve(call.func) == GRAD


def _is_kept(
    context: Context, function: FunctionNode, name: str, call: ast.expr, use: ast.expr
) -> bool:
    """Whether a name still has the value that it has at `call` where it is computed with, and
    nothing moves that."""
    unchanged = _is_unchanged(context, function, name, call, use)
    return unchanged and _stays(context, function, name)


def _is_unchanged(
    context: Context, function: FunctionNode, name: str, call: ast.expr, use: ast.expr
) -> bool:
    scope = context.names.scope_of(call)
    if context.names.owner(name, call) is not scope or context.names.owner(name, use) is not scope:
        return False
    start, end = context.source.span(call)[0], context.source.span(use)[0]
    if start > end:
        return False
    return not any(
        isinstance(held.ctx, ast.Store)
        and start < context.source.span(context.index.statement(held))[1]
        and context.source.span(held)[0] < end
        and not context.index.within(use, context.index.statement(held))
        for held in context.index.names.get(name, ())
        if context.index.within(held, function)
    )


def _gives(context: Context, value: ast.expr, call: ast.expr) -> bool:
    """Whether a value is what the call gives, but for methods that leave it where it is."""
    while value is not call:
        if isinstance(value, ast.Call) and value.args and context.resolve(value.func) == _SAME:
            value = value.args[0]
            continue
        if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
            return False
        if value.func.attr in _ELSEWHERE | _NO_TENSORS:
            return False
        value = value.func.value
    return True


def _root(context: Context, operand: ast.expr) -> str | None:
    """`x` of `-x.view(-1)[0]`, where all of it is on the device of `x`."""
    while not isinstance(operand, ast.Name):
        if isinstance(operand, ast.UnaryOp):
            operand = operand.operand
        elif isinstance(operand, ast.Subscript):
            operand = operand.value
        elif isinstance(operand, ast.Call) and _gives_number(context, operand):
            return None  # One on the CPU meets tensors of CUDA.
        elif isinstance(operand, ast.Call) and wants_tensor(context, operand):
            operand = operand.args[0]
        elif isinstance(operand, ast.Call) and isinstance(operand.func, ast.Attribute):
            if operand.func.attr in _ELSEWHERE | _NO_TENSORS:
                return None
            operand = operand.func.value
        else:
            return None
    return operand.id


def _gives_number(context: Context, call: ast.Call) -> bool:
    """`x.sum()`, `torch.mean(x)`: without a dimension they give a tensor that has none."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in _REDUCING:
        return False
    return not call.keywords and len(call.args) == int(wants_tensor(context, call))


def _is_tensor(context: Context, function: FunctionNode, name: str) -> bool:
    if _asked(context, function, name) & _OF_TENSORS:
        return True
    for held in context.index.names.get(name, ()):
        call = context.index.parents[held]
        if isinstance(call, ast.Call) and call.args[:1] == [held] and wants_tensor(context, call):
            if context.index.within(held, function):
                return True
    return False


def _stays(context: Context, function: FunctionNode, name: str) -> bool:
    """Whether nothing in the function moves what the name holds."""
    return not _asked(context, function, name) & _ELSEWHERE


def _asked(context: Context, function: FunctionNode, name: str) -> set[str]:
    """The methods of a name that a function calls."""
    return {
        use.attr
        for held in context.index.names.get(name, ())
        if context.index.within(held, function)
        if isinstance(use := context.index.parents[held], ast.Attribute)
        if isinstance(called := context.index.parents[use], ast.Call) and called.func is use
    }


def _parameter(context: Context, call: ast.expr, name: str) -> str | None:
    """The parameter that a name is, or that a layer or a function of torch makes it of."""
    for _ in range(_DEPTH):
        bindings = context.names.scope_of(call).bindings.get(name, [])
        if len(bindings) != 1:
            return None
        (binding,) = bindings
        if binding.kind == "parameter":
            default = isinstance(binding.value, ast.Constant)
            known = not default and context.flow.surely_bound(name, call)
            return name if known and name not in ("self", "cls") else None
        source = _made_of(context, binding.value) if binding.kind == "assign" else None
        if source is None or source == name:
            return None
        name = source
    return None


def _made_of(context: Context, value: ast.expr | None) -> str | None:
    if not isinstance(value, ast.Call) or not value.args:
        return _root(context, value) if value is not None else None
    name = context.resolve(value.func) or ""
    if name.startswith("torch.nn.functional.") or _is_layer(context, value.func):
        return _root(context, value.args[0])
    return _root(context, value)


def _is_layer(context: Context, function: ast.expr) -> bool:
    """`self.softmax` that the class sets to a layer of torch's."""
    if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
        return False
    made = [
        context.resolve(value.func) or "" if isinstance(value, ast.Call) else ""
        for value in context.guards.assigned(function)
    ]
    return bool(made) and all(name.startswith("torch.nn.") for name in made)
