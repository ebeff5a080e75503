"""The `"mps"` device is used with no test for it.

## What it does
Flags `"mps"` where a device is expected, in code that also runs where MPS is not.

## Why is this bad?
`torch.device("mps")` itself succeeds everywhere; the first tensor that is made there or moved
there raises `RuntimeError` or `NotImplementedError` off a Mac, and on an old macOS.

## Example
```python
device = torch.device("mps")
```
Use instead:
```python
device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
```

## What is not flagged
Code behind a test for MPS, for the device's type or for macOS, in a `try`, or in a test that is
marked for Macs; comparisons, keys and texts.

## Fix safety
Unsafe: the code was written for one device, and the CPU may not be what its author wants
elsewhere.

## References
- PyTorch: docs/source/notes/mps.rst
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Finding, Fix, Severity
from mpslint.patterns.selection import torch_name
from mpslint.patterns.text import needs_parentheses, replace
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.last_arm import deciding_test

_KNOWN = ("mps", "darwin", "caught", "accelerator", "mps-built", "mps-attribute")


@rule(
    "MPS104",
    "unguarded-mps-device",
    severity=Severity.BREAKS,
    triggers=(b"mps",),
    fix=Applicability.UNSAFE,
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for literal in context.devices.literals:
        if literal.backend != "mps" or literal.computed_index or literal.index:
            continue
        slot = context.devices.slot(literal.node)
        if slot is None or slot.kind in ("autocast", "option", "parameter"):
            continue
        if context.guards.has(literal.node, *_KNOWN) or _only_compared(context, literal.node):
            continue
        if deciding_test(context, literal.node) is not None:
            continue  # The last arm of a selection has a rule of its own.
        yield context.finding(
            rule,
            literal.node,
            "MPS is used without asking for it: raises where there is no MPS",
            applicability=Applicability.UNSAFE,
            fix=partial(_ask_first, context, literal.node),
        )


def _only_compared(context: Context, node: ast.expr) -> bool:
    """`x.device == torch.device("mps")`"""
    call = context.index.parents[node]
    return isinstance(call, ast.Call) and isinstance(context.index.parents[call], ast.Compare)


def _ask_first(context: Context, node: ast.expr) -> Fix | None:
    torch = torch_name(context, node)
    if torch is None:
        return None
    text = context.source.segment(node)
    mark = text[-1]
    selected = f"{text} if {torch}.backends.mps.is_available() else {mark}cpu{mark}"
    if needs_parentheses(node, context.index.parents[node]):
        selected = f"({selected})"
    return Fix(
        "Ask for MPS first", (replace(context.source, node, selected),), Applicability.UNSAFE
    )
