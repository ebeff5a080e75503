"""The tensor that a moved one is computed with: both have to be on one device, whichever it is.

`weight = torch.ones(n).cuda()` and, further down, `loss * weight`: on CUDA `loss` is there as well,
or the product would raise. So `loss.device` is where `weight` belongs on every machine.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.names.unpacked import bound_part
from mpslint.semantics.operands.look_alikes import may_be_packed, own_names
from mpslint.semantics.operands.made_of import (
    ELSEWHERE,
    gives,
    is_like,
    made_of,
    roots,
    takes_item,
)
from mpslint.semantics.operands.operand_pairs import (
    GRAD,
    Pair,
    given_by_name,
    is_joined,
    is_layered,
    operand_pairs,
    own_callee,
    takes_tensor,
)
from mpslint.semantics.operands.origins import has_origin, is_made_with, parameters_beside
from mpslint.semantics.syntax.parameters import explicit_parameters, positional_parameters
from mpslint.semantics.terms.value import Kind

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.names.names import Binding
    from mpslint.semantics.syntax.index import FunctionNode

_GATHERING = frozenset({"torch.gather", "torch.index_select", "torch.take_along_dim"})
_FOUND, _DEPTH = "partners of what is moved", 4
_OF_TENSORS = {
    "bmm",
    "clone",
    "contiguous",
    "detach",
    "dim",
    "expand_as",
    "float",
    "index_select",
    "long",
    "masked_fill",
    "matmul",
    "mm",
    "new",
    "permute",
    "size",
    "type_as",
    "unsqueeze",
    "view",
}
"""Methods that a tensor has, and neither a number nor an array of NumPy."""
_SHAPED = {"contiguous", "expand_as", "size", "unsqueeze", "view"}
"""Those that nobody asks one number for, which may be on the CPU and meet tensors elsewhere."""


def partner(context: Context, node: ast.AST) -> str | None:
    """The name of a tensor that what is made, or moved, at `node` is computed with in its function,
    and that is bound when it runs; None: none is known for sure."""
    call = node if isinstance(node, ast.Call) else context.index.enclosing(node, ast.Call)
    known: dict[ast.Call, str | None] = context.memo.setdefault(_FOUND, {})  # type: ignore[assignment]
    if call is not None and call not in known:
        known[call] = None  # of two that are computed with each other alone
        known[call] = _partner(context, call)
    return known[call] if call is not None else None


def partner_at(context: Context, call: ast.Call, at: ast.stmt) -> str | None:
    """The same where it is asked for at another place of the function, in front of the call."""
    name = partner(context, call)
    if name is not None and context.flow.surely_bound(name, at):
        if context.flow.reaching_name(name, at) == context.flow.reaching_name(name, call):
            return name
    function = context.index.function(call)
    return _parameter_beside(context, call, function, at) if function is not None else None


def _parameter_beside(
    context: Context, call: ast.expr, function: FunctionNode, at: ast.AST
) -> str | None:
    """The parameter that what `call` gives meets on its way, whatever names they have there, where
    its name still stands for what is on its device at `at`."""
    # Of a sum of products, a product first: nearest to what is made.
    pairs = sorted(operand_pairs(context, function), key=lambda pair: _length(context, pair))
    without: set[Binding] = set()
    for mine, other in pairs:
        if not is_made_with(context, mine, call, without):
            continue
        for parameter in parameters_beside(context, other):
            name = parameter.node.arg if isinstance(parameter.node, ast.arg) else "self"
            if name in ("self", "cls") or isinstance(parameter.value, ast.Constant):
                continue
            if not has_origin(context, name, at, parameter):
                continue
            if may_be_packed(context, function, name):
                continue
            is_itself = name in roots(context, other) and not takes_item(other)
            if (is_itself and is_joined(context, other)) or is_tensor(context, function, name):
                return name
    return None


def _length(context: Context, pair: Pair) -> int:
    return sum(end - start for start, end in map(context.source.span, pair))


def _partner(context: Context, call: ast.expr) -> str | None:
    function = context.index.function(call)
    if function is None:
        return None
    own = _own_names(context, call)
    if not own:
        handed = _handed_out(context, call, function)
        outer = context.index.function(handed) if handed is not None else None
        if handed is not None and outer is not None:
            name = _beside(context, handed, outer, shaping(context, call))
            # The inner function reads it, so it may hold nothing else there.
            seen = context.names.own_scope(function).bindings
            return name if name is not None and name not in seen else None
    found = _beside(context, call, function, shaping(context, call))
    return found or _parameter_beside(context, call, function, call)


def _beside(
    context: Context, call: ast.expr, function: FunctionNode, sizing: set[str]
) -> str | None:
    """The name of a tensor that what `call` gives is computed with in the function."""
    own = _own_names(context, call)
    direct = shaping(context, call, 0)
    for mine, other in operand_pairs(context, function):
        if not _holds(context, mine, own, call):
            continue
        of_item = takes_item(other)
        for name in roots(context, other):
            if name in own or may_be_packed(context, function, name):
                continue
            if name in direct and _is_kept(context, function, name, call, other):
                return name
            given = _parameter(context, call, name)
            if given is not None and given not in own and stays(context, function, given):
                if (is_joined(context, other) and not of_item) or any(
                    is_tensor(context, function, known) for known in (name, given)
                ):
                    return given
            if of_item and not is_tensor(context, function, name):
                continue
            if _is_result(context, function, name, call, other):
                return name
            if name in sizing and _is_kept(context, function, name, call, other):
                return name
            if is_layered(context, other) and context.flow.surely_bound(name, call):
                if _is_kept(context, function, name, call, other):
                    return name
            further = _partner_of_name(context, name, call)
            if further is not None and further not in own:
                return further
    return None


def _partner_of_name(context: Context, name: str, call: ast.expr) -> str | None:
    """The partner of what a name is made of by a move of its own, where both still hold."""
    bindings = context.names.scope_of(call).bindings.get(name, [])
    value = bindings[0].value if len(bindings) == 1 and bindings[0].kind == "assign" else None
    if value is None or not context.flow.surely_bound(name, call):
        return None
    while isinstance(value, ast.Call):
        found = partner(context, value)
        if found is not None:
            kept = context.names.scope_of(call).bindings.get(found, [])
            return found if len(kept) == 1 else None
        value = value.func.value if isinstance(value.func, ast.Attribute) else None
    return None


def _handed_out(context: Context, call: ast.expr, function: FunctionNode) -> ast.Call | None:
    """The one call of a function within a function that gives what `call` gives."""
    statement = context.index.statement(call)
    if not isinstance(statement, ast.Return) or statement.value is None:
        return None
    if context.index.function(function) is None or not gives(context, statement.value, call):
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
    if not isinstance(target, ast.Name) or not gives(context, value, call):
        return frozenset()
    found = {target.id}
    for name, bindings in context.names.scope_of(call).bindings.items():
        made = bindings[0].value if len(bindings) == 1 and bindings[0].kind == "assign" else None
        if made is not None and not isinstance(made, ast.Name | ast.BinOp):
            if set(roots(context, made)) & found:
                found.add(name)
    return frozenset(found)


def _holds(context: Context, operand: ast.expr, own: frozenset[str], call: ast.expr) -> bool:
    """Whether an operand is where what `call` gives is: `weight * 0.5 * alpha` is."""
    if isinstance(operand, ast.BinOp):
        sides = operand.left, operand.right
        return any(_holds(context, side, own, call) for side in sides)
    return bool(own.intersection(roots(context, operand))) or gives(context, operand, call)


def shaping(context: Context, call: ast.expr, depth: int = 2) -> set[str]:
    """`x` of `torch.zeros(x.size()).cuda()`, which has a value there and is no number; also
    where the size, or what is moved, has a name of its own."""
    found: set[str] = set()
    for node in ast.walk(call):
        if isinstance(node, ast.Attribute) and node.attr in _sizes(context):
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
                        found |= shaping(context, binding.value, depth - 1)
    return found


def _sizes(context: Context) -> set[str]:
    """What only a tensor is asked for in this file, to know how large it is."""
    return {"size", "shape"} - own_names(context)


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
        and (
            _is_differentiated(context, use)
            or _is_gathered_from(context, use)
            or bool(_asked(context, function, name) & _SHAPED - own_names(context))
        )
        and _is_unchanged(context, function, name, call, use)
    )


def _is_differentiated(context: Context, use: ast.expr) -> bool:
    """`outputs` of `torch.autograd.grad`, which are tensors."""
    given = context.index.parents[use]
    call = context.index.parents[given]
    return isinstance(call, ast.Call) and context.resolve(call.func) == GRAD


def _is_gathered_from(context: Context, use: ast.expr) -> bool:
    """`torch.gather(logits, 1, index)`: a tensor, which has its index beside it."""
    call = context.index.parents[use]
    if not isinstance(call, ast.Call) or call.args[:1] != [use]:
        return False
    return context.resolve(call.func) in _GATHERING


def _is_kept(
    context: Context, function: FunctionNode, name: str, call: ast.expr, use: ast.expr
) -> bool:
    """Whether a name still has the value that it has at `call` where it is computed with, and
    nothing moves that."""
    unchanged = _is_unchanged(context, function, name, call, use)
    return unchanged and stays(context, function, name)


def _is_unchanged(
    context: Context, function: FunctionNode, name: str, call: ast.expr, use: ast.expr
) -> bool:
    scope = context.names.scope_of(call)
    if context.names.owner(name, call) is not scope or context.names.owner(name, use) is not scope:
        return False
    start, end = context.source.span(call)[0], context.source.span(use)[0]
    if start > end:
        return context.index.statement(call) is context.index.statement(use)
    return not any(
        isinstance(held.ctx, ast.Store)
        and start < context.source.span(context.index.statement(held))[1]
        and context.source.span(held)[0] < end
        and not context.index.within(use, context.index.statement(held))
        for held in context.index.names.get(name, ())
        if context.index.within(held, function)
    )


def is_tensor(context: Context, function: FunctionNode, name: str, depth: int = 2) -> bool:
    """Whether a function, or one that it hands a name's value on to, uses that as a tensor, or
    says that it is one."""
    if _asked(context, function, name) & _OF_TENSORS - own_names(context) or _is_declared(
        context, function, name
    ):
        return True
    for held in context.index.names.get(name, ()):
        call = context.index.parents[held]
        if not isinstance(call, ast.Call) or not context.index.within(held, function):
            continue
        if call.args[:1] == [held] and (takes_tensor(context, call) or is_like(context, call)):
            return True
        callee = own_callee(context, call) if held in call.args and depth else None
        if callee is not None and callee is not function:
            given = given_by_name(context, call)
            if any(
                value is held and is_tensor(context, callee, parameter, depth - 1)
                for parameter, value in given.items()
            ):
                return True
            # A parameter that is bound again still says what it is given.
            taken = positional_parameters(callee.args)
            place = call.args.index(held) + isinstance(call.func, ast.Attribute)
            if place < len(taken) and _is_declared(context, callee, taken[place].arg):
                return True
    return False


def _is_declared(context: Context, function: FunctionNode, name: str) -> bool:
    """`x: torch.Tensor`"""
    return any(
        item.arg == name and context.values.annotation(item.annotation).kind is Kind.TENSOR
        for item in explicit_parameters(function.args)
    )


def stays(context: Context, function: FunctionNode, name: str) -> bool:
    """Whether nothing in the function moves what the name holds."""
    return not _asked(context, function, name) & ELSEWHERE


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
    made = bound_part(binding, name)
    origin = made_of(context, made)
    if origin is None or origin == name:
        return None
    if made is not None and takes_item(made):
        function = context.index.function(call)
        if function is None or not is_tensor(context, function, origin):
            return None
    return _parameter(context, call, origin, depth - 1)
