"""`torch.mps` memory counters raise where MPS is not there.

## What it does
Flags `torch.mps.current_allocated_memory`, `driver_allocated_memory`, `recommended_max_memory` and
`set_per_process_memory_fraction` outside a test for MPS.

## Why is this bad?
`RuntimeError: Cannot execute getCurrentAllocatedMemory() without MPS backend` on every machine
but a Mac.

## Example
```python
used = torch.mps.current_allocated_memory()
```
Use instead:
```python
used = torch.mps.current_allocated_memory() if torch.backends.mps.is_available() else 0
```

## What is not flagged
Calls below a test for MPS, for a device of type mps or for macOS, and calls below a `try`.

## Fix safety
Safe: machines with MPS make the same call, the others raised before and now read 0.

## References
- `torch/mps/__init__.py`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Finding, Fix, Severity
from mpslint.patterns.guard import MPS, guard_expression, guard_statement
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.worlds.machines import MACS

_NAMES = [
    "current_allocated_memory",
    "driver_allocated_memory",
    "recommended_max_memory",
    "set_per_process_memory_fraction",
]


@rule(
    "MPS703",
    "unguarded-memory-counter",
    severity=Severity.BREAKS,
    triggers=tuple(name.encode() for name in _NAMES),
    fix=Applicability.SAFE,
    unfixed="the call is part of what was not understood",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    names = [f"torch.mps.{name}" for name in _NAMES]
    for event in context.worlds.calls(names):
        call, qualified = event.call, event.name
        if not event.worlds & ~MACS or event.caught:
            continue
        yield context.finding(
            rule,
            call.func,
            f"{qualified}() raises RuntimeError where there is no MPS",
            applicability=Applicability.SAFE,
            fix=partial(_only_on_mps, context, call),
        )


def _only_on_mps(context: Context, call: ast.Call) -> Fix | None:
    message = "Ask only where MPS is there"
    if isinstance(context.index.parents[call], ast.Expr):
        return guard_statement(context, call, MPS, message)
    return guard_expression(context, call, MPS, "0", message)
