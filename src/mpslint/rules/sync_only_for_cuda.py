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
Files that do not speak of MPS or other accelerators at all: their timer has no third device. What
only a refusal to run without CUDA keeps a Mac from: there the refusal is the finding. A wait with
an arm for MPS or for `torch.accelerator` in the same function; code that runs on CUDA only (also
behind an early exit of the function that calls it), or times it in a way of its own; a wait that no
clock read follows in its function or turn of a loop, or only one for a time that nobody uses
(before memory counters, in clean-up code, at the end of a step), unless its function ends with it
or copies without waiting (`non_blocking=True`); one before which something else has waited already,
such as `.item()` or `.cpu()`. By default: waits before which work is known to be queued (where the
clock is set back in a loop, by the turn before), waits behind which the clock is read and then work
is queued, and functions that wait and hand back the clock. Where that is left open (a call of a
library, the start of a function) the finding is opt-in (`--select MPS602`).

## Fix safety
Safe: on CUDA the first arm is taken as before. The other waits of the function for CUDA only get
their arm with it.

## References
- karpathy/nanochat#792, `torch/mps/__init__.py` (`synchronize`)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Confidence, Finding, Fix, Severity
from mpslint.patterns.backend_arm import mps_choice
from mpslint.patterns.waits import WAIT_MESSAGE, serve_waits
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.timing.device_work import Effect
from mpslint.semantics.waits.cuda_waits import waits_for_cuda_only


@rule(
    "MPS602",
    "sync-only-for-cuda",
    severity=Severity.IGNORES,
    triggers=(b"synchronize",),
    fix=Applicability.SAFE,
    least=Confidence.CERTAIN,
    unfixed="the wait is part of more than a statement or a plain choice",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for event, pending in waits_for_cuda_only(context):
        called = isinstance(event.node, ast.Call)
        yield context.finding(
            rule,
            event.call.func if called else event.node,
            "waits for CUDA only: on MPS what follows begins before the work has run",
            confidence=Confidence.CERTAIN if pending is Effect.WORK else Confidence.INFERRED,
            labels=context.decided(event, "false on MPS"),
            applicability=Applicability.SAFE,
            fix=partial(serve_waits, context, event.call)
            if called
            else partial(_choose_mps, context, event.node),
        )


def _choose_mps(context: Context, wait: ast.AST) -> Fix | None:
    """`wait = torch.cuda.synchronize if CUDA else nothing` chooses that of MPS as well."""
    choice = context.index.parents[wait]
    if not isinstance(choice, ast.IfExp) or choice.body is not wait:
        return None
    edit = mps_choice(context, choice, wait) if isinstance(wait, ast.Attribute) else None
    return Fix(WAIT_MESSAGE, (edit,), Applicability.SAFE) if edit is not None else None
