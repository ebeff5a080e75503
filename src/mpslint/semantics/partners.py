"""The tensor that a moved one is computed with: both have to be on one device, whichever it is.

`weight = torch.ones(n).cuda()` and, further down, `loss * weight`: on CUDA `loss` is there as well,
or the product would raise. So `loss.device` is where `weight` belongs on every machine.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.operand_pairs import (
    GRAD,
    given_by_name,
    operand_pairs,
    own_callee,
    wants_tensor,
)

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.index import FunctionNode

_FOUND, _DEPTH = "partners of what is moved", 4
_OF_TENSORS = {
    "contiguous",
    "dim",
    "expand_as",
    "float",
    "index_select",
    "long",
    "matmul",
    "mm",
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
_VIEWS = {"T", "data", "mT"}
"""Attributes of a tensor that lie where it does."""
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
    if not own:
        handed = _handed_out(context, call, function)
        outer = context.index.function(handed) if handed is not None else None
        if handed is not None and outer is not None:
            name = _beside(context, handed, outer, _shaping(context, call))
            # The inner function reads it, so it may hold nothing else there.
            seen = context.names.own_scope(function).bindings
            return name if name is not None and name not in seen else None
    return _beside(context, call, function, _shaping(context, call))


def _beside(
    context: Context, call: ast.expr, function: FunctionNode, shaping: set[str]
) -> str | None:
    """The name of a tensor that what `call` gives is computed with in the function."""
    own = _own_names(context, call)
    direct = _shaping(context, call, 0)
    for mine, other in operand_pairs(context, function):
        if not _holds(context, mine, own, call):
            continue
        for name in _roots(context, other):
            if name in own:
                continue
            if name in direct and _is_kept(context, function, name, call, other):
                return name
            given = _parameter(context, call, name)
            if given is not None and given not in own and _stays(context, function, given):
                if any(_is_tensor(context, function, known) for known in (name, given)):
                    return given
            if _is_result(context, function, name, call, other):
                return name
            if name in shaping and _is_kept(context, function, name, call, other):
                return name
    return None


def _handed_out(context: Context, call: ast.expr, function: FunctionNode) -> ast.Call | None:
    """The one call of a function within a function that gives what `call` gives."""
    statement = context.index.statement(call)
    if not isinstance(statement, ast.Return) or statement.value is None:
        return None
    if context.index.function(function) is None or not _gives(context, statement.value, call):
        return None
    calls = [
        parent
        for use in context.index.names.get(function.name, ())
        if isinstance(parent := context.index.parents[use], ast.Call) and parent.func is use
    ]
    if len(calls) != 1 or own_callee(context, calls[0]) is not function:
        return None
    around = context.index.function(function)
    return calls[0] if context.index.function(calls[0]) is around else None


def _own_names(context: Context, call: ast.expr) -> frozenset[str]:
    """The name that gets what `call` gives, and those that are made of it alone."""
    statement = context.index.statement(call)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return frozenset()
    target, value = statement.targets[0], statement.value
    if not isinstance(target, ast.Name) or not _gives(context, value, call):
        return frozenset()
    found = {target.id}
    for name, bindings in context.names.scope_of(call).bindings.items():
        made = bindings[0].value if len(bindings) == 1 and bindings[0].kind == "assign" else None
        if made is not None and not isinstance(made, ast.Name | ast.BinOp):
            if set(_roots(context, made)) & found:
                found.add(name)
    return frozenset(found)


def _holds(context: Context, operand: ast.expr, own: frozenset[str], call: ast.expr) -> bool:
    """Whether an operand is where what `call` gives is: `weight * 0.5 * alpha` is."""
    if isinstance(operand, ast.BinOp):
        sides = operand.left, operand.right
        return any(_holds(context, side, own, call) for side in sides)
    return bool(own.intersection(_roots(context, operand))) or _gives(context, operand, call)


def _shaping(context: Context, call: ast.expr, depth: int = 2) -> set[str]:
    """`x` of `torch.zeros(x.size()).cuda()`, which has a value there and is no number; also
    where the size, or what is moved, has a name of its own."""
    found: set[str] = set()
    for node in ast.walk(call):
        if isinstance(node, ast.Attribute) and node.attr in ("size", "shape"):
            # `x.data.size()` as people wrote it before torch 0.4
            held = node.value
            if isinstance(held, ast.Attribute) and held.attr == "data":
                held = held.value
            if isinstance(held, ast.Name):
                found.add(held.id)
        elif depth and isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            for binding in context.flow.reaching(node):
                if binding.kind in ("assign", "unpack") and binding.value is not None:
                    if not context.index.within(call, binding.node):
                        found |= _shaping(context, binding.value, depth - 1)
    return found


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


def _roots(context: Context, operand: ast.expr) -> list[str]:
    """`x` of `-x.view(-1)[0]`, where all of it is on the device of `x`; of `2 * x * w` all."""
    while not isinstance(operand, ast.Name):
        if isinstance(operand, ast.BinOp):
            return _roots(context, operand.left) + _roots(context, operand.right)
        if isinstance(operand, ast.UnaryOp):
            operand = operand.operand
        elif isinstance(operand, ast.Subscript) or (
            isinstance(operand, ast.Attribute) and operand.attr in _VIEWS
        ):
            operand = operand.value
        elif isinstance(operand, ast.Call) and _gives_number(context, operand):
            return []  # One on the CPU meets tensors of CUDA.
        elif isinstance(operand, ast.Call) and wants_tensor(context, operand):
            operand = operand.args[0]
        elif isinstance(operand, ast.Call) and isinstance(operand.func, ast.Attribute):
            if operand.func.attr in _ELSEWHERE | _NO_TENSORS:
                return []
            operand = operand.func.value
        else:
            return []
    return [operand.id]


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
        if not isinstance(call, ast.Call) or not context.index.within(held, function):
            continue
        if call.args[:1] == [held] and wants_tensor(context, call):
            return True
        callee = own_callee(context, call) if held in call.args else None
        if callee is not None and callee is not function:
            given = given_by_name(context, call)
            if any(
                value is held and _asked(context, callee, parameter) & _OF_TENSORS
                for parameter, value in given.items()
            ):
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


def _parameter(context: Context, call: ast.expr, name: str, depth: int = _DEPTH) -> str | None:
    """The parameter that a name is, or that a layer or a function of torch makes it of."""
    bindings = context.names.scope_of(call).bindings.get(name, [])
    if len(bindings) != 1 or not depth:
        return None
    (binding,) = bindings
    if binding.kind == "parameter":
        default = isinstance(binding.value, ast.Constant)
        known = not default and context.flow.surely_bound(name, call)
        return name if known and name not in ("self", "cls") else None
    made_of = _made_of(context, binding.value) if binding.kind == "assign" else None
    if made_of is None or made_of == name:
        return None
    return _parameter(context, call, made_of, depth - 1)


def _made_of(context: Context, value: ast.expr | None) -> str | None:
    if value is None:
        return None
    if isinstance(value, ast.Call) and value.args:
        name = context.resolve(value.func) or ""
        if name.startswith("torch.nn.functional.") or _is_layer(context, value.func):
            value = value.args[0]
    roots = _roots(context, value) if not isinstance(value, ast.BinOp) else []
    return roots[0] if len(roots) == 1 else None


def _is_layer(context: Context, function: ast.expr) -> bool:
    """`self.softmax` that the class sets to a layer of torch's."""
    if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
        return False
    made = [
        context.resolve(value.func) or "" if isinstance(value, ast.Call) else ""
        for value in context.guards.assigned(function)
    ]
    return bool(made) and all(name.startswith("torch.nn.") for name in made)
