"""A dtype is chosen by asking CUDA for bfloat16, so every Mac gets float16.

## What it does
Flags `torch.cuda.is_bf16_supported()` as the test of a conditional or an `if`, where the other
arm is a 16-bit dtype.

## Why is this bad?
The answer is False on every Mac, while MPS runs bfloat16 from torch 2.3 on macOS 14: the program
silently computes in float16, with another range and other numbers.

## Why is it opt-in?
float16 works on MPS, and some authors want it there.

## Example
```python
dtype = torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
```
Use instead:
```python
if torch.cuda.is_available():
    dtype = torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
else:
    dtype = torch.bfloat16
```

## What is not flagged
Tests that only run on CUDA, and selections whose other arm is float32.

## Fix safety
There is no fix: the dtype on MPS is a choice.

## References
- pytorch/pytorch#119641 (bfloat16 on MPS)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.model import Finding, Severity
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context

_HALF = {"float16", "half", "fp16", "16-mixed", "16", "torch.float16", "f16"}


@rule(
    "MPS218",
    "bf16-cuda-probe",
    severity=Severity.IGNORES,
    triggers=(b"is_bf16_supported",),
    default=False,
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for call in context.calls_of("torch.cuda.is_bf16_supported"):
        if not context.worlds.breaks(call):
            continue
        chosen = _selection(context, call)
        if chosen is not None and _falls_to_half(chosen):
            yield context.finding(
                rule,
                call.func,
                "torch.cuda.is_bf16_supported() is False on every Mac: float16 is chosen there",
            )


def _selection(context: Context, call: ast.Call) -> ast.If | ast.IfExp | None:
    """The `if` whose test the call belongs to, where CUDA is not a condition of its own."""
    child: ast.AST = call
    for parent in context.index.ancestors(call):
        if isinstance(parent, ast.If | ast.IfExp):
            return parent if child is parent.test else None
        if not isinstance(parent, ast.BoolOp | ast.UnaryOp):
            return None
        child = parent
    return None


def _falls_to_half(selection: ast.If | ast.IfExp) -> bool:
    arms = selection.orelse if isinstance(selection.orelse, list) else [selection.orelse]
    for arm in arms:
        for node in ast.walk(arm):
            if isinstance(node, ast.Attribute) and node.attr in _HALF:
                return True
            if isinstance(node, ast.Constant) and node.value in _HALF:
                return True
    return False
