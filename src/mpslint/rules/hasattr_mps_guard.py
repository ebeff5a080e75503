"""`hasattr(torch, "mps")` is true on every platform: it guards nothing.

## What it does
Flags `hasattr(torch, "mps")`, `hasattr(torch.mps, "...")` and `hasattr(torch.backends, "mps")`
as the only test before a call of `torch.mps.*` or the choice of an MPS device.

## Why is this bad?
`torch.mps` is part of torch on Linux and Windows too. `torch.mps.empty_cache()` then raises
`Cannot execute emptyCache() without MPS backend`.

## Example
```python
if hasattr(torch, "mps"):
    torch.mps.empty_cache()
```
Use instead:
```python
if hasattr(torch, "mps") and torch.backends.mps.is_available():
    torch.mps.empty_cache()
```

## What is not flagged
A test that also asks `torch.backends.mps.is_available()` or the type of the device, `hasattr` for
a report, `hasattr` before `torch.backends.mps.is_available()` itself.

## Fix safety
Safe: the code still runs wherever it could run.

## References
- run on Linux with torch 2.13: the attribute is there, the call raises
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Finding, Fix, Severity
from mpslint.patterns.local_names import torch_name
from mpslint.patterns.text import replace
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.worlds.events import Event, Kind
from mpslint.semantics.worlds.without_mps import build_tests, named

_QUESTIONS = ("is_available", "device_count", "is_built")


@rule(
    "MPS116",
    "hasattr-mps-guard",
    severity=Severity.BREAKS,
    triggers=(b"hasattr",),
    also=((b"mps",),),
    fix=Applicability.SAFE,
    unfixed="the code around the question was not understood",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    seen: set[ast.AST] = set()
    for event in _uses(context):
        tests = build_tests(context.worlds, event)
        guards = [test for test in tests if isinstance(test, ast.Call) and _is_hasattr(test)]
        if event.caught or len(guards) != len(tests) or not guards or guards[0] in seen:
            continue
        seen.update(guards)
        guard, use = guards[0], event.node
        shown = use.func if isinstance(use, ast.Call) else use
        yield context.finding(
            rule,
            guard,
            f"true on every platform, so {context.line(shown)} raises where there is no MPS",
            labels=(context.label(shown, "needs MPS"),),
            applicability=Applicability.SAFE,
            fix=partial(_fix, context, guard),
        )


def _is_hasattr(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == "hasattr"


def _uses(context: Context) -> list[Event]:
    """Calls of `torch.mps.*` that need the device, and MPS devices where one is expected."""
    found = [
        event
        for event in context.worlds.events(Kind.CALLED)
        if event.name.startswith("torch.mps.") and event.name[10:] not in _QUESTIONS
    ]
    found += [
        event
        for event in named(context.worlds, ("mps",))
        if context.devices.slot(event.node) is not None  # type: ignore[arg-type]
    ]
    return sorted(found, key=lambda event: (event.node.lineno, event.node.col_offset))  # type: ignore[attr-defined]


def _fix(context: Context, guard: ast.Call) -> Fix | None:
    torch = torch_name(context, guard)
    parent = context.index.parents[guard]
    negated = isinstance(parent, ast.UnaryOp | ast.Compare)
    if torch is None or negated:
        return None
    text = f"{context.source.segment(guard)} and {torch}.backends.mps.is_available()"
    if isinstance(parent, ast.BoolOp) and isinstance(parent.op, ast.Or):
        text = f"({text})"
    edit = replace(context.source, guard, text)
    return Fix("Ask whether MPS is available", (edit,), Applicability.SAFE)
