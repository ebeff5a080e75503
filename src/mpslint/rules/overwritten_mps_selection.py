"""A later `if`/`else` overwrites the choice of MPS.

## What it does
Flags the CPU that a test for CUDA leaves to all others, where a Mac had been given MPS before.

## Why is this bad?
A Mac always comes there, and the device is the CPU again.

## Example
```python
if torch.backends.mps.is_available():
    device = "mps"
if torch.cuda.is_available():
    device = "cuda"
else:
    device = "cpu"
```
Use instead:
```python
if torch.backends.mps.is_available():
    device = "mps"
elif torch.cuda.is_available():
    device = "cuda"
else:
    device = "cpu"
```

## What is not flagged
A second `if` without `else`, `elif` chains, a second statement that reads the name or asks for
MPS itself.

## Fix safety
Unsafe: which device wins where both are there may change.

## References
- control flow
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Edit, Finding, Fix, Severity
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.worlds.events import Kind


@rule(
    "MPS114",
    "overwritten-mps-selection",
    severity=Severity.IGNORES,
    triggers=(b"mps",),
    fix=Applicability.UNSAFE,
    unfixed="which of the selections should win was not understood",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    if not context.worlds.writes(("mps",)):
        return
    for event in context.worlds.events(Kind.OVERWRITTEN):
        assert isinstance(event.node, ast.expr)
        assert event.use is not None
        yield context.finding(
            rule,
            event.node,
            f"overwrites the choice of mps at {context.line(event.use)}: a Mac always comes here",
            labels=(context.label(event.use, "mps is chosen here"),),
            applicability=Applicability.UNSAFE,
            fix=partial(_one_chain, context, event.use, event.node),
        )


def _one_chain(context: Context, chosen: ast.AST, overwriting: ast.AST) -> Fix | None:
    """Where both are `if` statements, and the one follows the other at once."""
    first, second = _choice(context, chosen), _choice(context, overwriting)
    if first is None or second is None or first.orelse:
        return None
    block = context.index.block(first)
    place = next(i for i, item in enumerate(block) if item is first)
    if place + 1 >= len(block) or block[place + 1] is not second:
        return None
    return _fix(context, first, second)


def _choice(context: Context, node: ast.AST) -> ast.If | None:
    parent = context.index.parents[context.index.statement(node)]
    return parent if isinstance(parent, ast.If) else None


def _fix(context: Context, first: ast.If, second: ast.If) -> Fix | None:
    source = context.source
    start = source.span(second)[0]
    between = source.text[source.span(first)[1] : start]
    if between.strip() or second.col_offset != first.col_offset:
        return None
    edit = Edit(start, start, "el", "")
    return Fix("Make it one chain", (edit,), Applicability.UNSAFE)
