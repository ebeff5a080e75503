"""There is one MPS device: an index above 0 never exists.

## What it does
Flags `"mps:1"` and `torch.device("mps", 1)`, or any index above 0.

## Why is this bad?
`torch.mps.device_count()` is 0 or 1. The device can be named, but not used.

## Example
```python
device = torch.device("mps:1")
```
Use instead:
```python
device = torch.device("mps")
```

## What is not flagged
`"mps"`, `"mps:0"`, computed indices, strings that are no device (log texts, keys, comparisons).

## Fix safety
Safe: the device that is named does not exist anywhere.

## References
- `torch.mps.device_count`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Finding, Fix, Severity
from mpslint.patterns.text import quote, replace, replace_span
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.devices.gpu_numbers import device_made, number_beside, type_given


@rule(
    "MPS117",
    "mps-device-index",
    severity=Severity.BREAKS,
    triggers=(b"mps",),
    fix=Applicability.SAFE,
    unfixed="how the number is put together was not understood",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for literal in context.devices.literals:
        if literal.backend != "mps":
            continue
        node = literal.node
        made = device_made(context.index, context.names, node)
        beside = number_beside(context.names, made) if made is not None else None
        if literal.ordinal and (beside is not None or context.devices.slot(node) is not None):
            yield _finding(context, rule, beside or node, node, literal.ordinal)


def _finding(
    context: Context, rule: Rule, place: ast.expr, literal: ast.expr, index: int
) -> Finding:
    return context.finding(
        rule,
        place,
        f"there is one MPS device, so mps:{index} never exists",
        applicability=Applicability.SAFE,
        fix=partial(_fix, context, place, literal),
    )


def _fix(context: Context, place: ast.expr, literal: ast.expr) -> Fix:
    source = context.source
    made = device_made(context.index, context.names, literal)
    if place is literal or made is None:
        mark = quote(source, literal)
        edit = replace(source, literal, f"{mark}mps{mark}")
    else:
        kind, end = type_given(made), source.span(place)[1]
        assert kind is not None
        if source.span(kind)[1] < end:
            edit = replace_span(source, source.span(kind)[1], end, "")
        else:
            edit = replace(source, made, f"{source.segment(made.func)}({source.segment(kind)})")
    return Fix("Name the one device", (edit,), Applicability.SAFE)
