"""The allocator's cache is emptied at every step of a loop.

## What it does
Flags `empty_cache()` of `torch.mps`, `torch.cuda` and `torch.accelerator` that runs at each turn
of a loop which trains or evaluates.

## Why is this bad?
The caching allocator keeps freed blocks for the next step. Giving them back each time makes the
next step ask the system again, and waits for the device.

## Why is it opt-in?
On machines with little memory it can be the lesser evil, and there are reports of loops that got
faster by it.

## Example
```python
for batch in loader:
    step(batch)
    torch.mps.empty_cache()
```
Use instead: one call after the loop, or every so many steps.

## What is not flagged
Calls under a step test, once per epoch, in a handler, and right after a `del`.

## Fix safety
There is no fix: how often the cache must be emptied depends on the memory there is.

## References
- `torch/mps/__init__.py` (`empty_cache`)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.model import Confidence, Finding, Severity
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context

_CALLS = tuple(f"torch.{backend}.empty_cache" for backend in ("mps", "cuda", "accelerator"))


@rule(
    "MPS704",
    "empty-cache-in-loop",
    severity=Severity.SLOW,
    triggers=(b"empty_cache",),
    default=False,
    unfixed="how often the cache must be emptied depends on the memory that there is",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for call in context.calls_of(*_CALLS):
        loop = context.loops.device_loop(call)
        if loop is None or not context.loops.every_step(call, loop) or _after_del(context, call):
            continue
        yield context.finding(
            rule,
            call.func,
            f"empties the allocator's cache at each step of the loop at {context.line(loop)}",
            confidence=Confidence.INFERRED,
            labels=(context.label(loop, "the loop"),),
        )


def _after_del(context: Context, call: ast.Call) -> bool:
    """Whether something large was dropped just before, which is the call's purpose then."""
    statement = context.index.statement(call)
    block = context.index.block(statement)
    place = next(i for i, item in enumerate(block) if item is statement)
    return any(isinstance(item, ast.Delete) for item in block[max(0, place - 3) : place])
