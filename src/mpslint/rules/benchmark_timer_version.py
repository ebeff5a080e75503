"""`torch.utils.benchmark.Timer` waits for MPS only from torch 2.9 on.

## What it does
Flags `torch.utils.benchmark.Timer` in files that use MPS, where the oldest torch the project
supports (`min-torch`) is older than 2.9.

Opt-in: whether the number matters depends on the torch that is installed.

## Why is this bad?
Before 2.9 the timer synchronises CUDA (and, from 2.7, XPU) only: on MPS it reports the time of
queueing.

## Example
```python
Timer("model(x)", globals=globals()).timeit(100)
```
Use instead: torch 2.9, or a statement that ends with a wait
(`"model(x); torch.mps.synchronize()"`).

## What is not flagged
Statements that wait themselves; files that know nothing of MPS; projects with `min-torch` of 2.9 or
later.

## References
- PyTorch pull request 152199
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.model import Finding, Severity
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context

_TIMERS = (
    "torch.utils.benchmark.Timer",
    "torch.utils.benchmark.utils.timer.Timer",
)


@rule(
    "MPS605",
    "benchmark-timer-version",
    severity=Severity.IGNORES,
    triggers=(b"benchmark",),
    default=False,
    unfixed="whether the oldest torch or what is timed should change is for its author to say",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    if context.settings.min_torch >= (2, 9) or b"mps" not in context.source.data:
        return
    if not _knows_mps(context):
        return
    for call in context.calls_of(*_TIMERS):
        if "synchronize" in ast.unparse(call):
            continue
        yield context.finding(
            rule,
            call.func,
            "does not wait for MPS before torch 2.9, and min-torch is older",
        )


def _knows_mps(context: Context) -> bool:
    if context.index.attributes.get("mps"):
        return True
    return any(literal.backend == "mps" for literal in context.devices.literals)
