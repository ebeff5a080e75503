"""Operands that have to be on one device, whichever it is, or torch raises."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.index import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mpslint.semantics.context import Context
    from mpslint.semantics.index import FunctionNode

_PAIRED = "operands on one device"
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
GRAD = "torch.autograd.grad"
"""What it is given as `grad_outputs` lies where the `outputs` do."""


def operand_pairs(context: Context, function: FunctionNode) -> list[tuple[ast.expr, ast.expr]]:
    """Operands of the function's own code that have to be on one device."""
    known: dict[FunctionNode, list[tuple[ast.expr, ast.expr]]]
    known = context.memo.setdefault(_PAIRED, {})  # type: ignore[assignment]
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
    if name == GRAD:
        return [k.value for k in call.keywords if k.arg in ("outputs", "grad_outputs")]
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


def wants_tensor(context: Context, call: ast.Call) -> bool:
    """`torch.mean(x, dim=1)`"""
    module, _, last = (context.resolve(call.func) or "").rpartition(".")
    return module in _TORCH and last in _OF_FIRST and bool(call.args)
