"""Running one op on the CPU: `f(x)` becomes `f(x.cpu()).to(x.device)`, and `f(x.cpu())` where only
the host reads what it gives."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.model import Applicability, Edit, Fix
from mpslint.patterns.text import insert
from mpslint.semantics.reads.ends_on_host import ends_on_host

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_ONE_RESULT = frozenset(
    [
        "torch.linalg.eigvals",
        "torch.linalg.eigvalsh",
        "torch.linalg.svdvals",
        "torch.linalg.matrix_exp",
        "torch.linalg.cond",
        "torch.linalg.matrix_rank",
        "torch.matrix_exp",
        "torch.poisson",
        "torch.logcumsumexp",
        "torch.cholesky_inverse",
        "torch.pdist",
        "torch.nn.functional.pdist",
        "torch.special.log_ndtr",
        "torch.special.ndtri",
        "torch.special.airy_ai",
        "torch.linalg.cholesky",
    ]
)
_SEVERAL_RESULTS = frozenset(
    [
        "torch.linalg.eig",
        "torch.linalg.eigh",
        "torch.frexp",
        "torch.geqrf",
        "torch.mode",
        "torch.kthvalue",
        "torch.linalg.ldl_factor",
        "torch.linalg.qr",
        "torch.cummax",
        "torch.cummin",
    ]
)


def takes_one_tensor(context: Context, call: ast.Call, name: str) -> bool:
    """Whether `compute_on_cpu` can rewrite this call."""
    if not call.args or not isinstance(call.args[0], ast.Name):
        return False
    if not all(isinstance(extra, ast.Constant) for extra in call.args[1:]):
        return False
    if not all(k.arg and isinstance(k.value, ast.Constant) for k in call.keywords):
        return False
    if context.index.enclosing(call, ast.JoinedStr) is not None:
        return False
    return name in _ONE_RESULT or (name in _SEVERAL_RESULTS and _is_unpacked(context, call))


def compute_on_cpu(context: Context, call: ast.Call, name: str) -> Fix | None:
    """Copy the tensor to the CPU and what comes out back to where the tensor was, unless that is
    read by the host in the end: it would be copied twice."""
    tensor = call.args[0]
    if not isinstance(tensor, ast.Name):
        return None
    start, end = context.source.span(call)
    edits = [insert(context.source.span(tensor)[1], ".cpu()")]
    if name not in _ONE_RESULT:
        edits.insert(0, insert(start, f"(t.to({tensor.id}.device) for t in "))
        edits.append(insert(end, ")"))
    elif not ends_on_host(context, call):
        edits.append(insert(end, f".to({tensor.id}.device)"))
    return Fix("Compute on the CPU", _tuple(edits), Applicability.UNSAFE)


def _tuple(edits: list[Edit]) -> tuple[Edit, ...]:
    return tuple(edits)


def _is_unpacked(context: Context, call: ast.Call) -> bool:
    """`a, b = f(x)`, where `t` is free and the tensor is not replaced while it is read."""
    parent = context.index.parents[call]
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1:
        return False
    target = parent.targets[0]
    return isinstance(target, ast.Tuple) and all(isinstance(item, ast.Name) for item in target.elts)
