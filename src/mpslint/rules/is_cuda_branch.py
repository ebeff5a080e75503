"""`if x.is_cuda:` chooses the GPU path: on MPS the other one is taken.

## What it does
Flags a test of `.is_cuda` whose body moves data to the GPU.

## Why is this bad?
`.is_cuda` is False on MPS. What the body creates or moves then stays on the CPU, beside tensors
that are on the GPU: a slow path, or an error about two devices.

## Example
```python
if x.is_cuda:
    mask = mask.cuda()
```
Use instead:
```python
mask = mask.to(x.device)
```

## What is not flagged
Bodies that only call `torch.cuda.*` or CUDA kernels: those are right. A test that also asks for
MPS, an assertion, a comparison of two tensors' flags.

## Why is it opt-in?
The calls in the body have findings of their own (`cuda-method-call`), and a
branch that serves CUDA on purpose looks the same.

## References
- run with torch 2.13: `Tensor.is_cuda` is False off CUDA; `Tensor.is_mps` exists
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.model import Finding, Severity
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.worlds.events import Kind


@rule(
    "MPS110",
    "is-cuda-branch",
    severity=Severity.IGNORES,
    triggers=(b"is_cuda",),
    default=False,
    unfixed="what the branch should do with tensors on MPS is for its author to say",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    told: set[ast.expr] = set()
    for event in context.worlds.without_twin:
        if event.kind not in (Kind.MOVED, Kind.PLACED) or event.once_ported:
            continue
        for flag in event.tests - told:
            if not isinstance(flag, ast.Attribute) or flag.attr != "is_cuda":
                continue
            told.add(flag)
            start, end = context.name_token(flag)
            yield context.finding_at(
                rule,
                start,
                end,
                "is_cuda is False on MPS, so what this branch moves stays on the CPU there",
                labels=(context.label(event.node, "moved only on CUDA"),),
            )
