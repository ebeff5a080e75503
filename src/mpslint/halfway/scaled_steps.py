"""Steps that would train in float16 on MPS with gradients that nothing scales.

`autocast(device.type)` goes where the device goes, and is float16 on MPS. A `GradScaler` beside it
that is for CUDA alone stays off there: small gradients are lost, and a step that is not a number is
taken all the same.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from mpslint.semantics.syntax.cuda_arms import cuda_arms
from mpslint.semantics.syntax.expressions import keyword, last_name
from mpslint.semantics.syntax.index import walk

_UNSCALED = "would be float16 on MPS, and its gradients are scaled for CUDA alone"
_CUDA = "cuda"
_MPS = "mps"
_THOUGHT_OF = (_MPS, "bfloat16", "bf16")
"""Where one of these decides an autocast, it is off on MPS, or not in float16 for sure."""
_MAX_TEXT = 60

KINDS: frozenset[type[ast.AST]] = frozenset({ast.Assign, ast.Call, ast.If, ast.IfExp})
"""The kinds of nodes that are asked for."""


def may_scale(text: bytes) -> bool:
    """Whether a text may hold a scaler beside an autocast."""
    return b"GradScaler" in text and b"autocast" in text


def unscaled(nodes: Sequence[ast.AST]) -> Iterator[tuple[int, str]]:
    """The rows of autocasts that go with the device, where all scalers of the file are for CUDA
    alone; `nodes`: those of its `KINDS`."""
    given = {
        target.id: node.value
        for node in nodes
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    guarded = {
        inner
        for node in nodes
        if isinstance(node, ast.If | ast.IfExp)
        for is_cudas, arm in zip(cuda_arms(node.test, given), (node.body, node.orelse), strict=True)
        if is_cudas
        for part in (arm if isinstance(arm, list) else [arm])
        for inner in walk(part)
        if isinstance(inner, ast.Call)
    }
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    scalers = [call for call in calls if last_name(call.func) == "GradScaler"]
    if not scalers or not all(one in guarded or _is_for_cuda(one, given) for one in scalers):
        return
    for call in calls:
        if last_name(call.func) == "autocast" and call not in guarded and _follows(call, given):
            yield call.lineno, f"{ast.unparse(call)[:_MAX_TEXT]} {_UNSCALED}"


def _is_for_cuda(scaler: ast.Call, given: dict[str, ast.expr]) -> bool:
    """Whether a scaler is off elsewhere: its device is CUDA unless another one is said."""
    device = keyword(scaler, "device") or next(iter(scaler.args), None)
    enabled = keyword(scaler, "enabled")
    if enabled is not None and cuda_arms(enabled, given).holds:
        return True
    # Fact: torch/cuda/amp/grad_scaler.py: the first parameter there is the scale.
    if _CUDA in ast.unparse(scaler.func) or device is None:
        return True
    if not isinstance(device, ast.Constant):
        return False
    return not isinstance(device.value, str) or device.value.startswith(_CUDA)


def _follows(autocast: ast.Call, given: dict[str, ast.expr]) -> bool:
    """Whether an autocast is on wherever the device is, in float16 for all that is said."""
    device = keyword(autocast, "device_type") or next(iter(autocast.args), None)
    if device is None or isinstance(device, ast.Constant):
        return False
    if _MPS in ast.unparse(device).lower():
        return False  # Somebody has thought of it.
    if isinstance(device, ast.Name) and device.id in given:
        kinds = ast.unparse(given[device.id]).lower()
        if _CUDA in kinds and _MPS not in kinds:
            return False
    enabled = keyword(autocast, "enabled")
    if enabled is not None and cuda_arms(enabled, given).holds:
        return False
    for one, words in ((keyword(autocast, "dtype"), (_CUDA, *_THOUGHT_OF)), (enabled, _THOUGHT_OF)):
        if one is not None and any(word in _said(one, given) for word in words):
            return False
    return True


def _said(node: ast.expr, given: dict[str, ast.expr]) -> str:
    """The text of an expression, and of what the names in it were given."""
    names = [item.id for item in walk(node) if isinstance(item, ast.Name)]
    parts = [node, *(given[name] for name in names if name in given)]
    return " ".join(map(ast.unparse, parts)).lower()
