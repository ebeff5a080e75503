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
        if literal.ordinal and context.devices.slot(node) is not None:
            yield _finding(context, rule, node, node, literal.ordinal)
        index = _second_argument(context, node)
        if index is not None:
            yield _finding(context, rule, index, node, int(str(index.value)))


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


def _second_argument(context: Context, node: ast.expr) -> ast.Constant | None:
    """The index of `torch.device("mps", 1)`."""
    call = context.index.parents[node]
    if not isinstance(call, ast.Call) or context.resolve(call.func) != "torch.device":
        return None
    index = call.args[1] if len(call.args) == 2 else None
    index = next((k.value for k in call.keywords if k.arg == "index"), index)
    if isinstance(index, ast.Constant) and type(index.value) is int and index.value > 0:
        return index
    return None


def _fix(context: Context, place: ast.expr, literal: ast.expr) -> Fix:
    source = context.source
    if place is literal:
        mark = quote(source, literal)
        edit = replace(source, literal, f"{mark}mps{mark}")
    else:
        edit = replace_span(source, source.span(literal)[1], source.span(place)[1], "")
    return Fix("Name the one device", (edit,), Applicability.SAFE)
