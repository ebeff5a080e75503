"""`elapsed_time` of events that have not finished raises or gives a wrong time.

## What it does
Flags `start.elapsed_time(end)` where nothing between `end.record()` and the read waits for the
device.

## Why is this bad?
Events are recorded when the device comes to them. Read before, `elapsed_time` raises
(`device not ready`) or measures nothing.

## Example
```python
end.record()
milliseconds = start.elapsed_time(end)
```
Use instead:
```python
end.record()
end.synchronize()
milliseconds = start.elapsed_time(end)
```

## What is not flagged
Reads after `end.synchronize()`, a device synchronisation, a host read (`.item()`, `.cpu()`), or a
function that nobody can look into; events that are recorded elsewhere.

## Fix safety
Safe: on CUDA the read needs the wait all the same.

## References
- `torch/cuda/streams.py` (`Event.elapsed_time`), `torch/mps/event.py`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Confidence, Finding, Fix, Severity
from mpslint.patterns.insertion import insert_before
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.timing.device_work import Effect


@rule(
    "MPS606",
    "event-read-unsynced",
    severity=Severity.IGNORES,
    triggers=(b"elapsed_time",),
    fix=Applicability.SAFE,
    unfixed="where the events are recorded was not understood",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for call in context.index.calls.get("elapsed_time", ()):
        if not isinstance(call.func, ast.Attribute) or len(call.args) != 1:
            continue
        end = call.args[0]
        record = _record(context, call, end)
        if record is None or _waits_between(context, record, call):
            continue
        start, stop = context.name_token(call.func)
        yield context.finding_at(
            rule,
            start,
            stop,
            "reads the time before the events have finished",
            confidence=Confidence.INFERRED,
            labels=(context.label(record, "recorded here, not waited for"),),
            applicability=Applicability.SAFE,
            fix=partial(_fix, context, call, end),
        )


def _record(context: Context, call: ast.Call, end: ast.expr) -> ast.stmt | None:
    """The last `end.record()` before the read, in the same block."""
    spelled = ast.unparse(end)
    statement = context.index.statement(call)
    block = context.index.block(statement)
    place = next(i for i, item in enumerate(block) if item is statement)
    for item in reversed(block[:place]):
        for record in context.index.calls.get("record", ()):
            function = record.func
            if context.index.parents[record] is not item or not isinstance(function, ast.Attribute):
                continue
            if ast.unparse(function.value) == spelled:
                return item
    return None


def _waits_between(context: Context, record: ast.stmt, call: ast.Call) -> bool:
    statement = context.index.statement(call)
    block = context.index.block(statement)
    places = [i for i, item in enumerate(block) if item is record or item is statement]
    return any(
        event.effect is not Effect.WORK
        for item in block[places[0] + 1 : places[1]]
        for event in context.work.events(item)
    )


def _fix(context: Context, call: ast.Call, end: ast.expr) -> Fix | None:
    line = f"{context.source.segment(end)}.synchronize()"
    edit = insert_before(context, context.index.statement(call), [line])
    return None if edit is None else Fix("Wait for the event", (edit,), Applicability.SAFE)
