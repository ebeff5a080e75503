"""`autocast` or `GradScaler` is pinned to CUDA.

## What it does
Flags `torch.autocast("cuda", ...)`, `device_type="cuda"` and `torch.amp.GradScaler("cuda")`.

## Why is this bad?
Off CUDA they warn and switch themselves off: a Mac trains in float32 without anybody noticing.

## Example
```python
with torch.autocast("cuda", dtype=torch.bfloat16):
    loss = model(x)
```
Use instead:
```python
with torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type != "cpu"):
    loss = model(x)
```

## What is not flagged
Code behind a test for CUDA or about CUDA, and the CUDA arm of a choice.

## Fix safety
Safe: on CUDA the same call; on the CPU it stays switched off. `torch.autocast("mps")` raises up to
torch 2.4, so `min-torch` must be 2.5 or newer for the fix.

## References
- `torch/amp/autocast_mode.py`
"""

from __future__ import annotations

import ast
import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Finding, Severity
from mpslint.patterns.autocast import portable_argument
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.runtime_calls import about_cuda


@rule(
    "MPS208",
    "hardcoded-autocast-device",
    severity=Severity.IGNORES,
    triggers=(b"cuda",),
    fix=Applicability.SAFE,
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for literal in context.devices.literals:
        if literal.backend != "cuda":
            continue
        slot = context.devices.slot(literal.node)
        if slot is None or slot.kind != "autocast":
            continue
        if context.guards.has(literal.node, "cuda", "asked-cuda", "no-mps"):
            continue
        if about_cuda(context, literal.node):
            continue
        call = slot.node
        if not isinstance(call, ast.Call):
            continue
        parent = context.index.parents[literal.node]
        direct = parent is call or context.index.parents[parent] is call
        fixable = direct and context.settings.min_torch >= (2, 5)
        start, end = context.source.span(literal.node)
        if call.func.lineno != literal.node.lineno:
            # The call is what one looks for; the literal may stand lines below.
            start = context.source.span(call.func)[0]
        yield context.finding_at(
            rule,
            start,
            end,
            "autocast for CUDA only: it switches itself off on MPS",
            applicability=Applicability.SAFE if fixable else None,
            fix=partial(portable_argument, context, call, literal.node) if fixable else None,
        )
