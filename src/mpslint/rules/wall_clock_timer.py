"""`time.time()` can jump; durations want `time.perf_counter()`.

## What it does
Flags pairs of `time.time()` that are subtracted in one block, where both reads serve nothing else.

Opt-in: over seconds the difference is small on a machine whose clock is not being set.

## Why is this bad?
`time.time()` is the time of day: it is set by the network and may go back. `perf_counter` only ever
goes forward and has the best resolution there is.

## Example
```python
start = time.time()
train()
print(time.time() - start)
```
Use instead:
```python
start = time.perf_counter()
train()
print(time.perf_counter() - start)
```

## What is not flagged
Times that are stored, printed or compared with the times of files; reads whose partner is not in
the same block.

## Fix safety
Safe: the value is used for its difference alone.

## References
- https://docs.python.org/3/library/time.html#time.perf_counter
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Finding, Fix, Severity
from mpslint.patterns.text import replace_span
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.timing.timing import TimedSpan


@rule(
    "MPS603",
    "wall-clock-timer",
    severity=Severity.IGNORES,
    triggers=(b"time",),
    default=False,
    fix=Applicability.SAFE,
    unfixed="what else the time is used for was not understood",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    spans = [
        span
        for span in context.timing.spans
        if context.resolve(span.start.func) == context.resolve(span.end.func) == "time.time"
    ]
    used = _reads_by_name(context)
    for span in spans:
        if not _only_subtracted(context, span, used):
            continue
        fixable = isinstance(span.start.func, ast.Attribute) and isinstance(
            span.end.func, ast.Attribute
        )
        yield context.finding(
            rule,
            span.start.func,
            "measures a duration with the time of day, which can be set back",
            labels=(context.label(span.end, "subtracted here"),),
            applicability=Applicability.SAFE if fixable else None,
            fix=partial(_fix, context, span) if fixable else None,
        )


def _reads_by_name(context: Context) -> dict[ast.AST, list[ast.Name]]:
    """Statement that binds a clock read -> uses of the name that it reaches."""
    uses: dict[ast.AST, list[ast.Name]] = {}
    names = {
        target.id
        for read in context.timing.clock_reads
        if isinstance(statement := context.index.parents[read], ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
    for name in names:
        for use in context.index.names.get(name, ()):
            if isinstance(use.ctx, ast.Load):
                for binding in context.flow.reaching(use):
                    uses.setdefault(binding.node, []).append(use)
    return uses


def _only_subtracted(
    context: Context, span: TimedSpan, used: dict[ast.AST, list[ast.Name]]
) -> bool:
    """Whether each of the two reads is used in this one difference only."""
    for read in (span.start, span.end):
        parent = context.index.parents[read]
        if parent is span.difference:
            continue
        if not isinstance(parent, ast.Assign):
            return False
        uses = used.get(parent, [])
        if len(uses) != 1 or context.index.parents[uses[0]] is not span.difference:
            return False
    return True


def _fix(context: Context, span: TimedSpan) -> Fix:
    edits = []
    for read in (span.start, span.end):
        assert isinstance(read.func, ast.Attribute)
        start, end = context.name_token(read.func)
        edits.append(replace_span(context.source, start, end, "perf_counter"))
    return Fix("Measure with `perf_counter`", tuple(edits), Applicability.SAFE)
