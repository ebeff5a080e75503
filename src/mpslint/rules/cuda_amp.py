"""`torch.cuda.amp` switches itself off where there is no CUDA.

## What it does
Flags `torch.cuda.amp.autocast`, `GradScaler`, `custom_fwd` and `custom_bwd`, however imported.

## Why is this bad?
They are deprecated since torch 2.4, and off CUDA they warn and do nothing: on a Mac the model
trains in float32, at half the speed and twice the memory.

## Example
```python
with torch.cuda.amp.autocast():
    loss = model(x)
```
Use instead:
```python
with torch.autocast(device_type=device.type, enabled=device.type != "cpu"):
    loss = model(x)
```

## What is not flagged
Code behind a test for CUDA or about CUDA, what is enabled only where CUDA is, and the arm for an
old torch beside one that uses `torch.amp`. Functions that move to CUDA without asking: their
`.cuda()` comes first. `autocast(enabled=False)`, unless it stands in an autocast that is on on MPS.

## Fix safety
Safe: on CUDA the new call is what the old one became; on the CPU it stays switched off, so that
numbers there do not change. A `GradScaler` runs on MPS from torch 2.8 (`min-torch`).

## References
- `torch/cuda/amp/autocast_mode.py`, `torch/amp/grad_scaler.py`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Finding, Severity
from mpslint.patterns.autocast import drop_unused_import, is_off, off_on_mps, portable_call
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.cuda_first import needs_cuda
from mpslint.semantics.runtime_calls import about_cuda

_NAMES = ("autocast", "GradScaler", "custom_fwd", "custom_bwd")
_QUALIFIED = tuple(f"torch.cuda.amp.{name}" for name in _NAMES)


@rule(
    "MPS207",
    "cuda-amp",
    severity=Severity.IGNORES,
    triggers=(b"amp",),
    also=((b"cuda",),),
    fix=Applicability.SAFE,
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    uses, right = _uses(context)
    yield from _imports(context, rule, right)
    for node, call in uses:
        name = (context.resolve(node) or "").rsplit(".", 1)[-1]
        yield context.finding(
            rule,
            node,
            _message(name, call),
            applicability=Applicability.SAFE if call else None,
            fix=partial(portable_call, context, call) if call else None,
        )


def _imports(context: Context, rule: Rule, right: set[ast.expr]) -> Iterator[Finding]:
    for statement in context.index.of(ast.ImportFrom):
        if not statement.module or not statement.module.startswith("torch.cuda.amp"):
            continue
        if context.guards.has(statement, "cuda", "caught") or about_cuda(context, statement):
            continue
        if not _is_fallback(context, statement) and not _only(context, statement, right):
            yield context.finding(
                rule,
                statement,
                "torch.cuda.amp is deprecated and for CUDA only: torch.amp is for every device",
                applicability=Applicability.SAFE,
                fix=partial(drop_unused_import, context, statement),
            )


def _only(context: Context, statement: ast.ImportFrom, right: set[ast.expr]) -> bool:
    """Whether all that is imported is used, and nowhere in a way that is wrong."""
    for alias in statement.names:
        uses = context.index.names.get(alias.asname or alias.name, ())
        if not uses or not right.issuperset(uses):
            return False
    return True


def _uses(context: Context) -> tuple[list[tuple[ast.expr, ast.Call | None]], set[ast.expr]]:
    """What to report, with its call; and the uses that are right as they are."""
    found: list[tuple[ast.expr, ast.Call | None]] = []
    right: set[ast.expr] = set()
    for name, qualified in zip(_NAMES, _QUALIFIED, strict=True):
        local = context.aliases.get(qualified, ())
        imported = [use for alias in local for use in context.index.names.get(alias, ())]
        for node in (*context.index.attributes.get(name, ()), *imported):
            if context.resolve(node) != qualified or not isinstance(node.ctx, ast.Load):
                continue
            parent = context.index.parents[node]
            call = parent if isinstance(parent, ast.Call) and parent.func is node else None
            if _is_right(context, node, call):
                right.add(node)
            else:
                found.append((node, None if name.startswith("custom_") else call))
    return found, right


def _is_right(context: Context, node: ast.expr, call: ast.Call | None) -> bool:
    if context.guards.has(node, "cuda", "asked-cuda", "no-mps"):
        return True
    if about_cuda(context, node) or _is_fallback(context, node) or needs_cuda(context, node):
        return True
    return call is not None and off_on_mps(context, call)


def _message(name: str, call: ast.Call | None) -> str:
    if call is not None and is_off(call):
        return f"torch.cuda.amp.{name} is switched off for CUDA only: one around it stays on on MPS"
    return f"torch.cuda.amp.{name} is deprecated and for CUDA only: it does nothing on MPS"


def _is_fallback(context: Context, node: ast.AST) -> bool:
    """The arm for an old torch, beside one that uses `torch.amp`."""
    child = node
    for parent in context.index.ancestors(node):
        if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return False
        others: list[ast.AST] = []
        if isinstance(parent, ast.If):
            inside = any(item is child for item in parent.body)
            others = list(parent.orelse if inside else parent.body)
        elif isinstance(parent, ast.Try):
            others = [item for item in (*parent.body, *parent.handlers) if item is not child]
        if any(_uses_amp(context, item) for other in others for item in ast.walk(other)):
            return True
        child = parent
    return False


def _uses_amp(context: Context, node: ast.AST) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.module == "torch.amp"
    name = context.resolve(node) if isinstance(node, ast.Attribute) else None
    return name is not None and (name.startswith("torch.amp.") or name == "torch.autocast")
