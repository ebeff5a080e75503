"""A timer that waits for CUDA only gives a wrong number on MPS.

## What it does
Flags `torch.cuda.synchronize` under a test for CUDA that has no arm for MPS, where the clock is
read right after it (also one with arms for other accelerators and no `else`), and stand-ins such as
`synchronize = torch.cuda.synchronize if device_type == "cuda" else lambda: None`.

## Why is this bad?
The guard makes the code run on a Mac, where work is queued just the same: the clock is read before
it has run, and the benchmark reports a throughput that no chip has.

## Example
```python
if device.type == "cuda":
    torch.cuda.synchronize()
start = time.perf_counter()
```
Use instead:
```python
if device.type == "cuda":
    torch.cuda.synchronize()
elif device.type == "mps":
    torch.mps.synchronize()
start = time.perf_counter()
```

## What is not flagged
Files that do not speak of MPS or other accelerators at all: their timer has no third device.
A wait with an arm for MPS or for `torch.accelerator` in the same function; code that runs on CUDA
only, or times it in a way of its own; a wait that no clock read follows (before memory counters,
in clean-up code).

## Fix safety
Safe: on CUDA the first arm is taken as before.

## References
- karpathy/nanochat#792, `torch/mps/__init__.py` (`synchronize`)
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Confidence, Finding, Severity
from mpslint.patterns.backend_arm import serve_mps
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.worlds.refused import is_behind_refusal


@rule(
    "MPS602",
    "sync-only-for-cuda",
    severity=Severity.IGNORES,
    triggers=(b"synchronize",),
    fix=Applicability.SAFE,
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for event in context.worlds.without_twin:
        if event.name != "torch.cuda.synchronize" or event.on_mac:
            continue  # What a Mac comes to raises there: the finding of cuda-synchronize.
        if is_behind_refusal(event):
            continue  # It raises there as well, once it is no longer refused.
        tests = sorted(event.tests, key=lambda test: (test.lineno, test.col_offset))
        yield context.finding(
            rule,
            event.call.func,
            "waits for CUDA only: on MPS what follows begins before the work has run",
            confidence=Confidence.INFERRED,
            labels=tuple(context.label(test, "false on MPS") for test in tests[:1]),
            applicability=Applicability.SAFE,
            fix=partial(serve_mps, context, event.call, "Wait for MPS as well"),
        )
