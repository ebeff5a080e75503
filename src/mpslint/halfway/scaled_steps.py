"""Steps that would train in float16 on MPS with gradients that nothing scales.

`autocast(device.type)` goes where the device goes, and is float16 on MPS. A `GradScaler` beside it
that is for CUDA alone stays off there: small gradients are lost, and a step that is not a number is
taken all the same.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from mpslint.semantics.syntax.expressions import keyword, last_name
from mpslint.semantics.syntax.index import walk

_UNSCALED = "would be float16 on MPS, and its gradients are scaled for CUDA alone"
_CUDA = "cuda"
_MPS = "mps"
_THOUGHT_OF = (_MPS, "bfloat16", "bf16")
"""Where one of these decides an autocast, it is off on MPS, or not in float16 for sure."""
_MAX_TEXT = 60
_DEEPEST = 8
"""So many names are followed, one given what another was."""
_Arms = tuple[bool, bool]
"""Whether what runs where a test holds, and where it does not, runs for CUDA alone."""
_NEITHER: _Arms = (False, False)

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
        for is_cudas, arm in zip(_arms(node.test, given), (node.body, node.orelse), strict=True)
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
    if enabled is not None and _arms(enabled, given)[0]:
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
    if enabled is not None and _arms(enabled, given)[0]:
        return False
    for one, words in ((keyword(autocast, "dtype"), (_CUDA, *_THOUGHT_OF)), (enabled, _THOUGHT_OF)):
        if one is not None and any(word in _said(one, given) for word in words):
            return False
    return True


def _arms(test: ast.expr, given: dict[str, ast.expr], depth: int = _DEEPEST) -> _Arms:
    """What a test says of the machine: where it asks for CUDA what holds is for CUDA alone, and
    where it asks for anything else what does not hold is."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        holds, fails = _arms(test.operand, given, depth)
        return fails, holds
    if isinstance(test, ast.BoolOp):
        parts = [_arms(one, given, depth) for one in test.values]
        every, some = (all, any) if isinstance(test.op, ast.Or) else (any, all)
        return every(one[0] for one in parts), some(one[1] for one in parts)
    if isinstance(test, ast.Compare):
        return _compared(test, given, depth)
    if isinstance(test, ast.IfExp):
        return _chosen(test, given, depth)
    if isinstance(test, ast.Name) and test.id in given and depth:
        found = _arms(given[test.id], given, depth - 1)
        if found != _NEITHER:
            return found
    return _names_cuda(test), False


def _compared(test: ast.Compare, given: dict[str, ast.expr], depth: int) -> _Arms:
    """`device.type == "cuda"`, `scaler is not None`, `torch.cuda.device_count() > 0`"""
    value = test.comparators[-1]
    is_other = isinstance(test.ops[0], ast.NotEq | ast.NotIn | ast.IsNot)
    if isinstance(value, ast.Constant) and value.value is None:
        is_there = _arms(test.left, given, depth)
        return is_there if is_other else (is_there[1], is_there[0])
    if not _names_cuda(test):
        return _NEITHER
    if isinstance(value, ast.Constant) and not isinstance(value.value, str):
        return is_other or isinstance(test.ops[0], ast.Gt | ast.GtE), False
    return not is_other, is_other


def _chosen(test: ast.IfExp, given: dict[str, ast.expr], depth: int) -> _Arms:
    """`GradScaler() if device.type == "cuda" else None` is something for CUDA alone."""
    holds, fails = _arms(test.test, given, depth)
    if isinstance(test.orelse, ast.Constant) and not test.orelse.value:
        return holds, False
    return fails and isinstance(test.body, ast.Constant) and not test.body.value, False


def _names_cuda(node: ast.expr) -> bool:
    said = ast.unparse(node).lower()
    return _CUDA in said and _MPS not in said


def _said(node: ast.expr, given: dict[str, ast.expr]) -> str:
    """The text of an expression, and of what the names in it were given."""
    names = [item.id for item in walk(node) if isinstance(item, ast.Name)]
    parts = [node, *(given[name] for name in names if name in given)]
    return " ".join(map(ast.unparse, parts)).lower()
