"""`torch.mps.*` raises where MPS is not there.

## What it does
Flags calls of `torch.mps.synchronize`, `empty_cache`, `seed`, `Event`, `profiler.*` and their
like that also run on machines without MPS.

## Why is this bad?
`RuntimeError: Cannot execute deviceSynchronize() without MPS backend`: code that was ported to
the Mac no longer runs on Linux.

## Example
```python
torch.mps.synchronize()
```
Use instead:
```python
if torch.backends.mps.is_available():
    torch.mps.synchronize()
```

## What is not flagged
Calls below a test of `torch.backends.mps.is_available()`, of `device.type == "mps"` or of macOS;
`torch.mps.is_available`, `device_count` and `manual_seed`, which do not raise; the memory
counters, which are rule MPS703. A test by `hasattr(torch, "mps")` is wrong, but that is the
finding of rule MPS116.

## Fix safety
Safe for statements: they are put below the test, and machines without MPS raised before.

## References
- `torch/mps/__init__.py`; `torch.mps` is imported by `import torch` from torch 2.1
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Finding, Severity
from mpslint.patterns.guard import MPS, guard_statement
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.worlds.without_mps import build_tests, honest

_NAMES = [
    "synchronize",
    "empty_cache",
    "seed",
    "get_rng_state",
    "set_rng_state",
    "Event",
    "Stream",
    "stream",
    "current_stream",
    "default_stream",
    "set_stream",
    "compile_shader",
    "load_metallib",
    "profiler.start",
    "profiler.stop",
    "profiler.profile",
    "event.Event",
]


@rule(
    "MPS210",
    "unguarded-mps-api",
    severity=Severity.BREAKS,
    triggers=(b"mps",),
    fix=Applicability.SAFE,
    unfixed="the call is part of more than a statement",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    names = [f"torch.mps.{name}" for name in _NAMES]
    for event in context.worlds.calls(names):
        call, qualified = event.call, event.name
        if not honest(event.worlds) or event.caught:
            continue
        if build_tests(context.worlds, event):
            continue  # The test is what is wrong.
        statement = isinstance(context.index.parents[call], ast.Expr)
        message = "Call it only where MPS is there"
        yield context.finding(
            rule,
            call.func,
            f"{qualified}() raises RuntimeError where there is no MPS",
            applicability=Applicability.SAFE if statement else None,
            fix=partial(guard_statement, context, call, MPS, message) if statement else None,
        )
