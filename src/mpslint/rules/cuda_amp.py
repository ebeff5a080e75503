"""`torch.cuda.amp` switches itself off where there is no CUDA.

## What it does
Flags `torch.cuda.amp.autocast`, `GradScaler`, `custom_fwd` and `custom_bwd`, however imported.

## Why is this bad?
They are deprecated, and off CUDA they warn and do nothing: on a Mac the model trains in float32,
at half the speed and twice the memory.

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
Code behind a test for CUDA or about CUDA, and the arm for an old torch beside one that uses
`torch.amp`.

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
from mpslint.patterns.autocast import drop_unused_import, is_off, only_switched_off, portable_call
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.runtime_calls import about_cuda

_NAMES = ("autocast", "GradScaler", "custom_fwd", "custom_bwd")
_QUALIFIED = tuple(f"torch.cuda.amp.{name}" for name in _NAMES)


@rule(
    "MPS207",
    "cuda-amp",
    severity=Severity.IGNORES,
    triggers=(b"amp",),
    also=(b"cuda",),
    fix=Applicability.SAFE,
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    if only_switched_off(context):
        return
    for statement in context.index.of(ast.ImportFrom):
        if statement.module and statement.module.startswith("torch.cuda.amp"):
            if context.guards.has(statement, "cuda", "caught") or about_cuda(context, statement):
                continue
            if not _is_fallback(context, statement):
                yield context.finding(
                    rule,
                    statement,
                    "torch.cuda.amp does nothing on MPS: torch.amp is for every device",
                    applicability=Applicability.SAFE,
                    fix=partial(drop_unused_import, context, statement),
                )
    for name, qualified in zip(_NAMES, _QUALIFIED, strict=True):
        local = context.aliases.get(qualified, ())
        imported = [use for alias in local for use in context.index.names.get(alias, ())]
        for node in (*context.index.attributes.get(name, ()), *imported):
            if context.resolve(node) != qualified or not isinstance(node.ctx, ast.Load):
                continue
            if context.guards.has(node, "cuda", "asked-cuda", "no-mps"):
                continue
            if about_cuda(context, node) or _is_fallback(context, node):
                continue
            parent = context.index.parents[node]
            call = parent if isinstance(parent, ast.Call) and parent.func is node else None
            if name.startswith("custom_"):
                call = None
            yield context.finding(
                rule,
                node,
                _message(name, call),
                applicability=Applicability.SAFE if call else None,
                fix=partial(portable_call, context, call) if call else None,
            )


def _message(name: str, call: ast.Call | None) -> str:
    if call is not None and is_off(call):
        return f"torch.cuda.amp.{name} is switched off for CUDA only: one around it stays on on MPS"
    return f"torch.cuda.amp.{name} does nothing on MPS"


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
