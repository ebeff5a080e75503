"""Of which tensors a value is made, so that it lies where they do."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.operands.operand_pairs import COMPARED, is_layer, joint, wants_tensor

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_REDUCING = {"max", "mean", "median", "min", "norm", "prod", "std", "sum", "var"}
_SAME = "torch.autograd.Variable"
"""A function of old torch that gives back the tensor that it is given."""
_VIEWS = {"T", "data", "mT"}
"""Attributes of a tensor that lie where it does."""
ELSEWHERE = {"cpu", "cuda", "to", "numpy"}
_NO_TENSORS = {"item", "tolist", "size", "dim", "numel", "type", "new", "get_device"}


def gives(context: Context, value: ast.expr, call: ast.expr) -> bool:
    """Whether a value is what the call gives, but for methods that leave it where it is."""
    while value is not call:
        if isinstance(value, ast.Call) and value.args and context.resolve(value.func) == _SAME:
            value = value.args[0]
            continue
        if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
            return False
        if value.func.attr in ELSEWHERE | _NO_TENSORS:
            return False
        value = value.func.value
    return True


def roots(context: Context, operand: ast.expr) -> list[str]:
    """`x` of `-x.view(-1)[0]`, where all of it is on the device of `x`; of `2 * x * w` all."""
    if isinstance(operand, ast.Name):
        return [operand.id]
    return [name for part in parts(context, operand) for name in roots(context, part)]


def parts(context: Context, value: ast.expr) -> list[ast.expr]:
    """What a value is on one device with, as far as these are tensors: `x` of `x.view(-1)`, both
    sides of `x * w`."""
    if isinstance(value, ast.BinOp):
        return [value.left, value.right]
    if isinstance(value, ast.Compare):
        return [value.left, *value.comparators] if isinstance(value.ops[0], COMPARED) else []
    if isinstance(value, ast.UnaryOp):
        return [] if isinstance(value.op, ast.Not) else [value.operand]
    if isinstance(value, ast.Subscript):
        return [] if _is_key(value.slice) else [value.value]
    if isinstance(value, ast.Attribute):
        return [value.value] if value.attr in _VIEWS else []
    return _parts_of_call(context, value) if isinstance(value, ast.Call) else []


def takes_item(value: ast.expr) -> bool:
    """Whether a value is, or is computed from, one item of something, which may be a list or a
    table of tensors as well: `batch[0]`. A list gives no `x[:, 0]`."""
    return any(
        isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice | ast.Tuple)
        for node in ast.walk(value)
    )


def _is_key(index: ast.expr) -> bool:
    """`batch["image"]`: what has items by such names is no tensor."""
    return isinstance(index, ast.Constant) and isinstance(index.value, str)


def _parts_of_call(context: Context, call: ast.Call) -> list[ast.expr]:
    if _gives_number(context, call):
        return []  # One on the CPU meets tensors of CUDA.
    name = context.resolve(call.func) or ""
    if call.args and (
        wants_tensor(context, call)
        or name == _SAME
        or name.startswith("torch.nn.functional.")
        or is_layer(context, call.func)
    ):
        return call.args[:1]
    together = joint(context, call)
    if together or not isinstance(call.func, ast.Attribute):
        return together
    return [] if call.func.attr in ELSEWHERE | _NO_TENSORS else [call.func.value]


def _gives_number(context: Context, call: ast.Call) -> bool:
    """`x.sum()`, `torch.mean(x)`: without a dimension they give a tensor that has none."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in _REDUCING:
        return False
    return not call.keywords and len(call.args) == int(wants_tensor(context, call))


_MAKING = {"new", "new_empty", "new_full", "new_ones", "new_tensor", "new_zeros"}
"""Methods that make a tensor where the one is that they are called of."""
_LIKE = "_like"


def made_beside(context: Context, value: ast.expr) -> str | None:
    """`x` of `x.data.new(size).normal_()` and of `torch.zeros_like(x)`: the tensor that something
    is made beside, and is left there."""
    while isinstance(value, ast.Call):
        if any(given.arg in ("device", None) for given in value.keywords):
            return None
        name = context.resolve(value.func) or ""
        if name == _SAME and value.args:
            value = value.args[0]
        elif is_like(context, value):
            return _only_root(context, value.args[0])
        elif name or not isinstance(value.func, ast.Attribute):
            return None
        elif value.func.attr in _MAKING:
            return _only_root(context, value.func.value)
        elif value.func.attr in ELSEWHERE | _NO_TENSORS:
            return None
        else:
            value = value.func.value
    return None


def is_like(context: Context, call: ast.Call) -> bool:
    """`torch.zeros_like(x)`, which wants a tensor and makes another one beside it."""
    module, _, last = (context.resolve(call.func) or "").rpartition(".")
    return module == "torch" and last.endswith(_LIKE) and bool(call.args)


def _only_root(context: Context, tensor: ast.expr) -> str | None:
    found = roots(context, tensor)
    return found[0] if len(found) == 1 else None


def made_of(context: Context, value: ast.expr | None) -> str | None:
    if value is None:
        return None
    found = roots(context, value) if not isinstance(value, ast.BinOp) else []
    return found[0] if len(found) == 1 else None
