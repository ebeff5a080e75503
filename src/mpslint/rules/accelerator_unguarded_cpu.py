"""`torch.accelerator.*` raises on machines without an accelerator.

## What it does
Flags calls of `torch.accelerator` functions other than `is_available`, `current_accelerator` and
`device_count`, where nothing makes sure that there is an accelerator.

## Why is this bad?
`RuntimeError: Cannot access accelerator device when none is available`: the portable interface
is not portable to CPU-only machines, such as most CI.

## Example
```python
torch.accelerator.synchronize()
```
Use instead:
```python
if torch.accelerator.is_available():
    torch.accelerator.synchronize()
```

## What is not flagged
Calls below a test for an accelerator, for CUDA or MPS, or for a device that is not the CPU;
`device_index(i)` that is not entered; streams of a device that the caller names.

## Fix safety
Safe for statements: they are put below `if torch.accelerator.is_available():`.

## References
- `torch/accelerator/__init__.py` (from torch 2.6)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.facts.runtime import accelerator_on_mps
from mpslint.model import Applicability, Finding, Severity
from mpslint.patterns.guard import ACCELERATOR, guard_statement
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context


@rule(
    "MPS212",
    "accelerator-unguarded-cpu",
    severity=Severity.BREAKS,
    triggers=(b"accelerator",),
    fix=Applicability.SAFE,
    unfixed="the call is part of more than a statement",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    names = [f"torch.accelerator.{name}" for name in accelerator_on_mps()]
    for event in context.worlds.calls(names):
        call, qualified = event.call, event.name
        if not event.on_cpu or event.caught:
            continue
        if not _asks_the_accelerator(context, call, qualified.rsplit(".", 1)[-1]):
            continue
        statement = isinstance(context.index.parents[call], ast.Expr)
        message = "Call it only where there is an accelerator"
        yield context.finding(
            rule,
            call.func,
            f"{qualified}() raises RuntimeError where there is no accelerator",
            applicability=Applicability.SAFE if statement else None,
            fix=partial(guard_statement, context, call, ACCELERATOR, message)
            if statement
            else None,
        )


def _asks_the_accelerator(context: Context, call: ast.Call, name: str) -> bool:
    if name == "device_index":
        return isinstance(context.index.parents[call], ast.withitem)
    return not (name == "current_stream" and (call.args or call.keywords))
