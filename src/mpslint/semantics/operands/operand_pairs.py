"""Operands that have to be on one device, whichever it is, or torch raises."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.expressions import root_name
from mpslint.semantics.syntax.index import walk
from mpslint.semantics.syntax.parameters import positional_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mpslint.semantics.context import Context
    from mpslint.semantics.syntax.index import FunctionNode

_PAIRED = "operands on one device"
_WITH = {
    "add_",
    "addcmul",
    "addcmul_",
    "bmm",
    "div_",
    "eq",
    "gather",
    "index_add_",
    "index_select",
    "masked_fill",
    "masked_fill_",
    "matmul",
    "mm",
    "mul",
    "mul_",
    "mv",
    "scatter",
    "scatter_",
    "sub_",
}
"""Methods that raise for tensors of two devices."""
_FUNCTIONS = {
    "add",
    "bmm",
    "cat",
    "cdist",
    "div",
    "dot",
    "eq",
    "gather",
    "hstack",
    "index_select",
    "matmul",
    "max",
    "maximum",
    "min",
    "minimum",
    "mm",
    "mul",
    "mv",
    "stack",
    "sub",
    "vstack",
    "where",
}
"""The same of `torch`."""
_TENSORS = ("input", "other", "index", "mat2", "vec2", "src", "source", "mask")
"""Parameters of these that are given tensors, by whichever name."""
_JOINING = {"cat", "concat", "hstack", "stack", "vstack"}
"""Those of them that are given a list, and take nothing but tensors."""
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
    "index_select",
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
_SPREADING = ("torch.nn.DataParallel", "torch.nn.parallel.DistributedDataParallel")
COMPARED = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
GRAD = "torch.autograd.grad"
"""What it is given as `grad_outputs` lies where the `outputs` do."""


Pair = tuple[ast.expr, ast.expr]


def operand_pairs(context: Context, function: FunctionNode) -> list[Pair]:
    """What the function's own code computes with what: where the second lies, the first has to
    lie, or torch raises."""
    known: dict[FunctionNode, list[Pair]]
    known = context.memo.setdefault(_PAIRED, {})  # type: ignore[assignment]
    if function not in known:
        known[function] = []  # of one that calls itself
        known[function] = list(_paired(context, function))
    return known[function]


def _paired(context: Context, function: FunctionNode) -> Iterator[Pair]:
    for node in walk(function):
        if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.Mod):
            yield from ((node.left, node.right), (node.right, node.left))
        elif isinstance(node, ast.AugAssign) and not isinstance(node.op, ast.Mod):
            yield from ((node.target, node.value), (node.value, node.target))
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], COMPARED):
            yield from ((node.left, node.comparators[0]), (node.comparators[0], node.left))
        elif isinstance(node, ast.Subscript):
            # An index may be on the CPU, what is indexed by one of CUDA may not.
            indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            yield from ((index, node.value) for index in indices)
        elif isinstance(node, ast.Call):
            operands = _operands(context, node)
            for at, one in enumerate(operands):
                for two in operands[at + 1 :]:
                    yield from ((one, two), (two, one))
            yield from _handed_on(context, node)


def _handed_on(context: Context, call: ast.Call) -> Iterator[Pair]:
    """What a function of the file that is called here computes with one another."""
    given = given_by_name(context, call)
    if len(given) < 2:
        return
    callee = own_callee(context, call)
    for one, two in operand_pairs(context, callee) if callee is not None else ():
        mine, other = innermost(one), innermost(two)
        if mine != other and mine in given and other in given:
            yield given[mine], given[other]


def innermost(operand: ast.expr) -> str:
    """`x` of `x[0]`: the parameter that a function is given; empty: none."""
    return root_name(operand, ast.Subscript) or ""


def given_by_name(context: Context, call: ast.Call) -> dict[str, ast.expr]:
    """What a call gives the parameters of a function of the file that are bound once."""
    callee = own_callee(context, call)
    if callee is None or any(isinstance(given, ast.Starred) for given in call.args):
        return {}
    names = positional_names(callee.args)
    if isinstance(call.func, ast.Attribute):
        names = names[1:]
    given = dict(zip(names, call.args, strict=False))
    given |= {k.arg: k.value for k in call.keywords if k.arg is not None}
    scope = context.names.own_scope(callee).bindings
    return {name: value for name, value in given.items() if len(scope.get(name, ())) == 1}


def own_callee(context: Context, call: ast.Call) -> FunctionNode | None:
    """The function of the file, or the method of the own class, that a call runs."""
    function = call.func
    if isinstance(function, ast.Name):
        bindings = context.names.bindings(function.id, function)
        made = bindings[0].node if len(bindings) == 1 else None
        return made if isinstance(made, ast.FunctionDef) else None
    if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
        return None
    owner = context.index.enclosing(call, ast.ClassDef)
    if owner is None or function.value.id != "self":
        return None
    found = [
        item
        for item in owner.body
        if isinstance(item, ast.FunctionDef)
        if item.name == function.attr and not item.decorator_list
    ]
    return found[0] if len(found) == 1 else None


def _operands(context: Context, call: ast.Call) -> list[ast.expr]:
    """What a call computes with one another."""
    name = context.resolve(call.func) or ""
    if name == GRAD:
        return [k.value for k in call.keywords if k.arg in ("outputs", "grad_outputs")]
    given = list(call.args)
    if given and isinstance(given[0], ast.List | ast.Tuple):
        given = list(given[0].elts)
    named = [one.value for one in call.keywords if one.arg in _TENSORS]
    module, _, last = name.rpartition(".")
    if module == "torch" and last in _FUNCTIONS:
        return [*given, *named]
    if module == "torch.nn.functional":
        return given[: _TENSORS_FIRST.get(last, 2)]
    if is_layer(context, call.func):
        # `self.lstm(x, (h0, c0))`
        return [one for item in call.args for one in _elements(item)]
    if not name.startswith("torch") and isinstance(call.func, ast.Attribute):
        if call.func.attr in _WITH:
            return [call.func.value, *call.args, *named]
    return []


def _elements(given: ast.expr) -> list[ast.expr]:
    return given.elts if isinstance(given, ast.Tuple) else [given]


def is_layer(context: Context, function: ast.expr) -> bool:
    """`self.softmax` that the class sets to a layer of torch's, which leaves what it is given where
    it is."""
    if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
        return False
    made = [
        context.resolve(value.func) or "" if isinstance(value, ast.Call) else ""
        for value in context.guards.assigned(function)
    ]
    return bool(made) and all(
        name.startswith("torch.nn.") and name not in _SPREADING for name in made
    )


def is_joined(context: Context, operand: ast.expr) -> bool:
    """Whether an operand is one of several that are put together, which all are tensors then."""
    around = context.index.parents[operand]
    call = context.index.parents[around] if isinstance(around, ast.List | ast.Tuple) else None
    if not isinstance(call, ast.Call) or call.args[:1] != [around]:
        return False
    module, _, last = (context.resolve(call.func) or "").rpartition(".")
    return module == "torch" and last in _JOINING


def is_layered(context: Context, operand: ast.expr) -> bool:
    """Whether an operand goes through a layer beside its weight (`F.conv2d(x, weight)`), as no
    number may; and is a name, or what methods make of one."""
    call, root = context.index.parents[operand], operand
    if not isinstance(call, ast.Call):
        return False
    module, _, last = (context.resolve(call.func) or "").rpartition(".")
    if module != "torch.nn.functional" or operand not in call.args[: _TENSORS_FIRST.get(last, 0)]:
        return False
    while isinstance(root, ast.Call) and isinstance(root.func, ast.Attribute):
        root = root.func.value
    return isinstance(root, ast.Name)


def joint(context: Context, call: ast.Call) -> list[ast.expr]:
    """`x` and `y` of `torch.eq(x, y)` and of `torch.cat([x, y])`, beside which the result is."""
    module, _, last = (context.resolve(call.func) or "").rpartition(".")
    return _operands(context, call) if module == "torch" and last in _FUNCTIONS else []


def takes_tensor(context: Context, call: ast.Call) -> bool:
    """Whether the first argument of a call is a tensor. Fact: it is that of each function of
    `torch.nn.functional`."""
    module = (context.resolve(call.func) or "").rpartition(".")[0]
    return module == _TORCH[1] or wants_tensor(context, call)


def wants_tensor(context: Context, call: ast.Call) -> bool:
    """`torch.mean(x, dim=1)`"""
    module, _, last = (context.resolve(call.func) or "").rpartition(".")
    return module in _TORCH and last in _OF_FIRST and bool(call.args)
