"""The tensor that a moved one is computed with: both have to be on one device, whichever it is.

`weight = torch.ones(n).cuda()` and, further down, `loss * weight`: on CUDA `loss` is there as well,
or the product would raise. So `loss.device` is where `weight` belongs on every machine.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.index import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mpslint.semantics.context import Context
    from mpslint.semantics.index import FunctionNode

_FOUND, _OPERANDS, _DEPTH = "partners of what is moved", "operands on one device", 4
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
_WITH = {
    "add_",
    "bmm",
    "eq",
    "gather",
    "index_select",
    "masked_fill",
    "matmul",
    "mm",
    "mul",
    "scatter_",
}
"""Methods that raise for tensors of two devices."""
_FUNCTIONS = {"add", "bmm", "cat", "dot", "matmul", "max", "min", "mm", "mul", "stack", "where"}
"""The same of `torch`."""
_OF_FIRST = {
    "abs",
    "argmax",
    "argmin",
    "argsort",
    "bmm",
    "clamp",
    "cumprod",
    "cumsum",
    "diff",
    "exp",
    "flatten",
    "gather",
    "log",
    "log_softmax",
    "logsumexp",
    "masked_select",
    "matmul",
    "max",
    "mean",
    "median",
    "min",
    "mm",
    "neg",
    "norm",
    "permute",
    "pow",
    "prod",
    "relu",
    "reshape",
    "roll",
    "round",
    "sigmoid",
    "softmax",
    "sort",
    "sqrt",
    "square",
    "squeeze",
    "std",
    "sum",
    "tanh",
    "topk",
    "transpose",
    "tril",
    "triu",
    "unsqueeze",
    "var",
}
"""Functions of `torch` that want a tensor first, and give one that is where that is."""
_TENSORS_FIRST = {
    "batch_norm": 5,
    "bilinear": 4,
    "conv1d": 3,
    "conv2d": 3,
    "conv3d": 3,
    "instance_norm": 5,
    "linear": 3,
    "scaled_dot_product_attention": 4,
}
"""So many arguments of these functions of `torch.nn.functional` are tensors; else two count."""
_TORCH = ("torch", "torch.nn.functional")
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
    for one, two in _pairs(context, function):
        for mine, other in ((one, two), (two, one)):
            if not _holds(context, mine, own, call):
                continue
            name = _root(context, other)
            if name is None or name in own:
                continue
            if name in shaping and _is_kept(context, function, name, call, other):
                return name
            given = _parameter(context, call, name)
            if given is None or given in own or not _stays(context, function, given):
                continue
            if any(_is_tensor(context, function, known) for known in (name, given)):
                return given
    return None


def _own_names(context: Context, call: ast.expr) -> frozenset[str]:
    """The name that gets what `call` gives."""
    statement = context.index.statement(call)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return frozenset()
    target, value = statement.targets[0], statement.value
    return frozenset({target.id} if isinstance(target, ast.Name) and _gives(value, call) else ())


def _holds(context: Context, operand: ast.expr, own: frozenset[str], call: ast.expr) -> bool:
    """Whether an operand is where what `call` gives is: `weight * 0.5 * alpha` is."""
    if isinstance(operand, ast.BinOp):
        sides = operand.left, operand.right
        return any(_holds(context, side, own, call) for side in sides)
    return _root(context, operand) in own or _gives(operand, call)


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


def _is_kept(
    context: Context, function: FunctionNode, name: str, call: ast.expr, use: ast.expr
) -> bool:
    """Whether a name still has the value that it has at `call` where it is computed with."""
    scope = context.names.scope_of(call)
    if context.names.owner(name, call) is not scope or context.names.owner(name, use) is not scope:
        return False
    start, end = context.source.span(call)[0], context.source.span(use)[0]
    if start > end or not _stays(context, function, name):
        return False
    return not any(
        isinstance(held.ctx, ast.Store)
        and start < context.source.span(context.index.statement(held))[1]
        and context.source.span(held)[0] < end
        and not context.index.within(use, context.index.statement(held))
        for held in context.index.names.get(name, ())
        if context.index.within(held, function)
    )


def _gives(value: ast.expr, call: ast.expr) -> bool:
    """Whether a value is what the call gives, but for methods that leave it where it is."""
    while value is not call:
        if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
            return False
        if value.func.attr in _ELSEWHERE | _NO_TENSORS:
            return False
        value = value.func.value
    return True


def _pairs(context: Context, function: FunctionNode) -> list[tuple[ast.expr, ast.expr]]:
    """Operands of the function's own code that have to be on one device."""
    known: dict[FunctionNode, list[tuple[ast.expr, ast.expr]]]
    known = context.memo.setdefault(_OPERANDS, {})  # type: ignore[assignment]
    if function not in known:
        known[function] = list(_paired(context, function))
    return known[function]


def _paired(context: Context, function: FunctionNode) -> Iterator[tuple[ast.expr, ast.expr]]:
    for node in walk(function):
        if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.Mod):
            yield node.left, node.right
        elif isinstance(node, ast.Call):
            operands = _operands(context, node)
            for at, one in enumerate(operands):
                for two in operands[at + 1 :]:
                    yield one, two


def _operands(context: Context, call: ast.Call) -> list[ast.expr]:
    name = context.resolve(call.func) or ""
    given = list(call.args)
    if len(given) == 1 and isinstance(given[0], ast.List | ast.Tuple):
        given = list(given[0].elts)
    module, _, last = name.rpartition(".")
    if module == "torch" and last in _FUNCTIONS:
        return given
    if module == "torch.nn.functional":
        return given[: _TENSORS_FIRST.get(last, 2)]
    if not name.startswith("torch") and isinstance(call.func, ast.Attribute):
        if call.func.attr in _WITH:
            return [call.func.value, *call.args]
    return []


def _root(context: Context, operand: ast.expr) -> str | None:
    """`x` of `-x.view(-1)[0]`, where all of it is on the device of `x`."""
    while not isinstance(operand, ast.Name):
        if isinstance(operand, ast.UnaryOp):
            operand = operand.operand
        elif isinstance(operand, ast.Subscript):
            operand = operand.value
        elif isinstance(operand, ast.Call) and _wants_tensor(context, operand):
            operand = operand.args[0]
        elif isinstance(operand, ast.Call) and isinstance(operand.func, ast.Attribute):
            if operand.func.attr in _ELSEWHERE | _NO_TENSORS:
                return None
            operand = operand.func.value
        else:
            return None
    return operand.id


def _wants_tensor(context: Context, call: ast.Call) -> bool:
    """`torch.mean(x, dim=1)`"""
    module, _, last = (context.resolve(call.func) or "").rpartition(".")
    return module in _TORCH and last in _OF_FIRST and bool(call.args)


def _is_tensor(context: Context, function: FunctionNode, name: str) -> bool:
    if _asked(context, function, name) & _OF_TENSORS:
        return True
    for held in context.index.names.get(name, ()):
        call = context.index.parents[held]
        if isinstance(call, ast.Call) and call.args[:1] == [held] and _wants_tensor(context, call):
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
