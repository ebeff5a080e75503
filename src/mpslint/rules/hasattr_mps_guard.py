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
from mpslint.patterns.selection import torch_name
from mpslint.patterns.text import replace
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context

_SETTLED = ("mps", "asked-mps", "accelerator", "darwin", "no-mps", "caught")
_QUESTIONS = ("is_available", "device_count", "is_built")


@rule(
    "MPS116",
    "hasattr-mps-guard",
    severity=Severity.BREAKS,
    triggers=(b"hasattr",),
    also=((b"mps",),),
    fix=Applicability.SAFE,
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    guards = [call for call in context.index.calls.get("hasattr", ()) if _is_guard(context, call)]
    if not guards:
        return
    seen: set[ast.AST] = set()
    for use in _uses(context):
        facts = context.guards.at(use)
        if "mps-attribute" not in facts or not facts.isdisjoint(_SETTLED):
            continue
        guard = _guard_of(context, use, guards)
        if guard is None or guard in seen:
            continue
        seen.add(guard)
        yield context.finding(
            rule,
            guard,
            f"true on every platform, so {context.line(use)} raises where there is no MPS",
            labels=(context.label(use, "needs MPS"),),
            applicability=Applicability.SAFE,
            fix=partial(_fix, context, guard),
        )


def _is_guard(context: Context, call: ast.Call) -> bool:
    if len(call.args) != 2 or not isinstance(call.args[1], ast.Constant):
        return False
    holder, word = context.resolve(call.args[0]), call.args[1].value
    return (holder, word) in (("torch", "mps"), ("torch.backends", "mps")) or holder == "torch.mps"


def _uses(context: Context) -> Iterator[ast.expr]:
    """Calls of `torch.mps.*` that need the device, and MPS devices where one is expected."""
    for node in context.index.attributes.get("mps", ()):
        if context.resolve(node) != "torch.mps":
            continue
        attribute = context.index.parents[node]
        if not isinstance(attribute, ast.Attribute) or attribute.attr in _QUESTIONS:
            continue
        call = context.index.parents[attribute]
        if isinstance(call, ast.Call) and call.func is attribute:
            yield attribute
    for literal in context.devices.literals:
        if literal.backend == "mps" and context.devices.slot(literal.node) is not None:
            yield literal.node


def _guard_of(context: Context, use: ast.AST, guards: list[ast.Call]) -> ast.Call | None:
    """The `hasattr` in the condition under which `use` runs."""
    child = use
    for parent in context.index.ancestors(use):
        tests: list[ast.expr] = []
        if isinstance(parent, ast.If | ast.IfExp | ast.While) and child is not parent.test:
            tests = [parent.test]
        elif isinstance(parent, ast.BoolOp):
            tests = [value for value in parent.values if value is not child]
        for test in tests:
            for guard in guards:
                if context.index.within(guard, test):
                    return guard
        if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef):
            return None
        child = parent
    return None


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
