"""A timer around queued device work stops before the work has run.

## What it does
Flags the second of two clock reads that are subtracted, where device work lies between them (a
model, a matrix product, `.backward()`, an optimizer step) and nothing after the last of it waits
for the device, be it in a function of the file or a method of the same object. What one turn of a
loop times is reported once, with the places of the further reads. So are times that a helper of the
file takes of what it is handed: a decorator, `measure(net, x)`, `with timed():`, and
`timeit.timeit(lambda: a @ b)`.

## Why is this bad?
Calls return as soon as the work is queued, on CUDA and on MPS. The time is that of queueing: one
linear layer on MPS was measured at 23 us without a wait and at 245 us with one.

## Example
```python
start = time.perf_counter()
output = model(x)
elapsed = time.perf_counter() - start
```
Use instead:
```python
synchronize()
start = time.perf_counter()
output = model(x)
synchronize()
elapsed = time.perf_counter() - start
```
where `synchronize` waits for whichever device is there (see the fix).

## What is not flagged
Spans whose end waits for the device in some way: `.item()`, `.cpu()`, `.tolist()`, `print(tensor)`,
`float(tensor)`, also for each element (`[float(v) for v in y]`, `map(float, y)`), a text made of a
tensor, a test of its truth, `torch.equal`, what is as large as the data says (`y[y > 0]`,
`nonzero()`), `torch.save`, a move to a device that is the CPU, any call whose name says that it
synchronises, or a function that nobody can look into, also earlier in the statement that reads the
clock. Times that no Mac works out, since the difference stands under `if False` or in an arm for
CUDA; times that a function works out and does not use. Times of loading, file access and start-up,
of epochs and whole runs, where what is still queued at the end does not matter; steps of a loop
that waits once in each step, unless that is sure to happen outside of the time; meters that read
the clock once per step; files that use no device, and functions that move things to one only under
a flag that all callers leave off.

## Fix safety
Unsafe: a wait before each of the two reads. The numbers that the program prints change, as they
should; the file's own helper is called where it has one.

## References
- PyTorch pull request 152199 (`torch.utils.benchmark` on MPS), `torch/mps/__init__.py`
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import partial

from mpslint.model import Applicability, Confidence, Edit, Finding, Fix, Severity
from mpslint.patterns.insertion import insert_before
from mpslint.patterns.synchronise import synchronise_lines
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.syntax.expressions import argument
from mpslint.semantics.syntax.index import FUNCTIONS, LOOPS
from mpslint.semantics.timing.device_work import Effect
from mpslint.semantics.timing.timing import TimedSpan
from mpslint.semantics.worlds.machines import MACS

_MESSAGE = "Wait for the device before the clock is read (that changes what is measured)"


@rule(
    "MPS601",
    "unsynchronised-timing",
    severity=Severity.IGNORES,
    triggers=(b"time",),
    names=(b"time", b"timeit", b"datetime"),
    fix=Applicability.UNSAFE,
    unfixed="no place for a wait was found, or what is timed was not understood",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    yield from _by_timeit(context, rule)
    covered: set[ast.stmt] = set()
    for group in _by_loop(context, _too_early(context)):
        span, work = group[0]
        places = []
        for each, _ in group:
            places += [s for s in (each.start_statement, each.end_statement) if s not in covered]
            covered.update(places)
        yield context.finding(
            rule,
            span.end.func,
            f"reads the clock before the device work queued at {context.line(work)} has run",
            confidence=Confidence.INFERRED,
            labels=(
                context.label(span.start, "the time starts here"),
                context.label(work, "queued here, not waited for"),
                *(
                    context.label(read, text)
                    for more, _ in group[1:]
                    for read, text in (
                        (more.start, "another time starts here"),
                        (more.end, "read too early as well"),
                    )
                ),
            ),
            applicability=Applicability.UNSAFE,
            fix=partial(_fix, context, {span.start_statement for span, _ in group}, places),
        )


def _by_timeit(context: Context, rule: Rule) -> Iterator[Finding]:
    """What `timeit` calls a number of times, and reads the clock right behind."""
    for call in context.calls_of("timeit.timeit", "timeit.repeat"):
        called = argument(call, 0, "stmt")
        if called is None or not context.work.queues(called):
            continue
        if context.worlds.reach(call) & MACS:
            yield context.finding(
                rule,
                call.func,
                "reads the clock before the device work that is timed has run: wait for the device"
                " at its end",
                confidence=Confidence.INFERRED,
                labels=(context.label(called, "only queues its work"),),
            )


def _too_early(context: Context) -> Iterator[tuple[TimedSpan, ast.AST]]:
    """The spans that end too early, each with the work that is not done by then."""
    ends: set[ast.Call] = set()
    for span in context.timing.spans:
        if span.end in ends or not context.timing.is_measurement(span):
            continue
        if not context.timing.is_read(span):
            continue
        if not context.worlds.reach(span.difference) & MACS:
            continue  # No Mac works this time out: it stands under `if False`, or for CUDA alone.
        work = context.timing.unsynchronised(span)
        if work is None or not context.worlds.reach(span.end) & MACS:
            continue
        if _moves_nothing(context, work):
            continue
        ends.add(span.end)
        yield span, work


def _by_loop(
    context: Context, spans: Iterable[tuple[TimedSpan, ast.AST]]
) -> list[list[tuple[TimedSpan, ast.AST]]]:
    """The times that one turn of a loop takes of its parts are one matter, the others are each."""
    groups: dict[ast.AST, list[tuple[TimedSpan, ast.AST]]] = {}
    for span, work in spans:
        loop = context.index.enclosing(span.start, *LOOPS, *FUNCTIONS)
        key = loop if isinstance(loop, LOOPS) else span.end
        groups.setdefault(key, []).append((span, work))
    return [sorted(group, key=_place) for group in groups.values()]


def _place(found: tuple[TimedSpan, ast.AST]) -> tuple[int, int]:
    end = found[0].end
    return end.lineno, end.col_offset


def _moves_nothing(context: Context, work: ast.AST) -> bool:
    """Whether a function moves things to a device only where nobody comes (`if cuda:`, which all
    callers say is not so): what it computes itself stays on the CPU, which has run it."""
    moves = context.placement.uses_in(context.index.function(work))
    return bool(moves) and not any(context.worlds.comes_to(call) for call in moves)


def _fix(context: Context, starts: set[ast.stmt], places: list[ast.stmt]) -> Fix | None:
    edits: list[Edit] = []
    for statement in places:
        if statement in starts and _just_waited(context, statement):
            continue
        lines = synchronise_lines(context, statement)
        edit = insert_before(context, statement, lines) if lines is not None else None
        if edit is None:
            return None
        edits.append(edit)
    if not edits:
        return None
    return Fix(_MESSAGE, tuple(edits), Applicability.UNSAFE)


def _just_waited(context: Context, statement: ast.stmt) -> bool:
    block = context.index.block(statement)
    place = block.index(statement)
    if place == 0:
        return False
    events = list(context.work.events(block[place - 1]))
    return bool(events) and events[-1].effect is Effect.WAIT
