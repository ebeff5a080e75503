"""A dtype is chosen by asking CUDA for bfloat16, so every Mac gets float16.

## What it does
Flags `torch.cuda.is_bf16_supported()` where it chooses bfloat16, and whoever is left gets the other
dtype of 16 bits.

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

from collections.abc import Iterator

from mpslint.model import Finding, Severity
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.worlds.events import Kind


@rule(
    "MPS218",
    "bf16-cuda-probe",
    severity=Severity.IGNORES,
    triggers=(b"is_bf16_supported",),
    default=False,
    unfixed="which dtype should be taken on MPS is for its author to say",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    named = context.worlds.events(Kind.NAMED)
    for event in context.worlds.raising(("torch.cuda.is_bf16_supported",)):
        wide = [
            (other.function, other.arm)
            for other in named
            if other.name == "bfloat16" and other.cuda_alone and event.node in other.tests
        ]
        if any(
            other.name == "float16" and other.on_mac and (other.function, other.arm) in wide
            for other in named
        ):
            yield context.finding(
                rule,
                event.call.func,
                "torch.cuda.is_bf16_supported() is False on every Mac: float16 is chosen there",
            )
