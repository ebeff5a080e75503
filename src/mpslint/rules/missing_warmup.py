"""The first call on a device compiles and caches: a benchmark wants a warm-up before its timer.

## What it does
Flags measurements of device work where the model (or function) that is timed was not called before
in the same function.

Opt-in: some programs measure the first call on purpose, or warm up elsewhere.

## Why is this bad?
On MPS the first call builds its kernels: 13.8 ms were measured for a call that takes 4.5 ms
afterwards. The average of a few runs is then mostly the first one.

## Example
```python
start = time.perf_counter()
model(x)
```
Use instead:
```python
for _ in range(3):
    model(x)
synchronize()
start = time.perf_counter()
model(x)
```

## What is not flagged
Spans with the same call before the timer; times of epochs, runs and training steps; files that use
no device.

## References
- pytorch/pytorch#124056
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.model import Confidence, Finding, Severity
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.loops.loops import LoopKind
from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.timing.device_work import Effect
from mpslint.semantics.timing.timing import TimedSpan


@rule(
    "MPS604",
    "missing-warmup",
    severity=Severity.IGNORES,
    triggers=(b"time",),
    default=False,
    unfixed="whether the first call should count is for its author to say",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for span in context.timing.spans:
        if not context.timing.is_measurement(span) or _in_training(context, span):
            continue
        call = _timed_call(context, span)
        if call is None or _called_before(context, call, span):
            continue
        yield context.finding(
            rule,
            span.start.func,
            f"times the first call of `{ast.unparse(call.func)}`, which also compiles",
            confidence=Confidence.INFERRED,
            labels=(context.label(call, "called here for the first time"),),
        )


def _in_training(context: Context, span: TimedSpan) -> bool:
    names = {
        last_name(event.node.func)
        for statement in span.between
        for event in context.work.events(statement)
        if isinstance(event.node, ast.Call)
    }
    if "backward" in names:
        return True
    loop = context.loops.innermost(span.start)
    return loop is not None and context.loops.kind(loop) is LoopKind.TRAIN


def _timed_call(context: Context, span: TimedSpan) -> ast.Call | None:
    """The first device work in the span, where it is a call."""
    for statement in span.between:
        for event in context.work.events(statement):
            if event.effect is Effect.WORK:
                return event.node if isinstance(event.node, ast.Call) else None
    return None


def _called_before(context: Context, call: ast.Call, span: TimedSpan) -> bool:
    name = last_name(call.func)
    if name is None:
        return True
    function = context.index.function(call)
    return any(
        other.lineno < span.start.lineno and context.index.function(other) is function
        for other in context.index.calls.get(name, ())
    )
