"""A later `if`/`else` overwrites the choice of MPS.

## What it does
Flags an `if` that chooses MPS and is followed by an `if cuda: ... else: ...` for the same name.

## Why is this bad?
On a Mac the `else` arm of the second statement always runs, and the device is the CPU again.

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


@rule(
    "MPS114",
    "overwritten-mps-selection",
    severity=Severity.IGNORES,
    triggers=(b"mps",),
    fix=Applicability.UNSAFE,
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for first in context.index.of(ast.If):
        second = None if first.orelse else _next(context, first)
        if second is None or not _asks(context, first.test, "mps"):
            continue
        chosen = {
            name
            for name, value in _assigned(first.body)
            if context.values.of(value).devices == frozenset({"mps"})
        }
        if not chosen or not _asks(context, second.test, "cuda"):
            continue
        for name, value in _assigned(second.orelse):
            if name in chosen and context.values.of(value).devices == frozenset({"cpu"}):
                start = context.source.span(second)[0]
                yield context.finding_at(
                    rule,
                    start,
                    start + 2,
                    f"overwrites the choice of mps at {context.line(first)}: without CUDA the else "
                    "arm always runs",
                    labels=(context.label(first, "mps is chosen here"),),
                    applicability=Applicability.UNSAFE,
                    fix=partial(_fix, context, first, second),
                )
                break


def _asks(context: Context, test: ast.expr, backend: str) -> bool:
    facts = context.guards.implied(test, True)
    return backend in facts or f"asked-{backend}" in facts


def _assigned(block: list[ast.stmt]) -> list[tuple[str, ast.expr]]:
    """Plain assignments of a block that holds nothing else."""
    found = []
    for statement in block:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            found.append((ast.unparse(statement.targets[0]), statement.value))
    return found


def _next(context: Context, first: ast.If) -> ast.If | None:
    """The `if` with an `else` that follows at once and does not ask for MPS."""
    block = context.index.block(first)
    place = next(i for i, item in enumerate(block) if item is first)
    following = block[place + 1] if place + 1 < len(block) else None
    if not isinstance(following, ast.If) or not following.orelse:
        return None
    if len(following.orelse) == 1 and isinstance(following.orelse[0], ast.If):
        return None
    return None if "mps" in ast.unparse(following.test) else following


def _fix(context: Context, first: ast.If, second: ast.If) -> Fix | None:
    source = context.source
    start = source.span(second)[0]
    between = source.text[source.span(first)[1] : start]
    if between.strip() or second.col_offset != first.col_offset:
        return None
    edit = Edit(start, start, "el", "")
    return Fix("Make it one chain", (edit,), Applicability.UNSAFE)
