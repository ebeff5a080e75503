"""`torch.backends.mps` does not exist before torch 1.12.

## What it does
Flags `torch.backends.mps` where the project supports torch older than 1.12 (setting `min-torch`)
and nothing asks whether the attribute is there.

## Why is this bad?
torch 1.11 has no `torch.backends.mps`: the test itself raises `AttributeError`, on every machine.

## Example
```python
if torch.backends.mps.is_available():
    ...
```
Use instead:
```python
if hasattr(torch.backends, "mps") and torch.backends.mps.is_available():
    ...
```

## What is not flagged
Nothing, when `min-torch` is 1.12 or later (the default is). Code behind
`hasattr(torch.backends, "mps")`, `getattr`, a version test or a `try` that catches the error.

## Fix safety
Safe: where the attribute exists the answer is the same.

## References
- the torch 1.11.0 and 1.12.0 wheels (`torch/backends/mps`)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.facts.torch_releases import FIRST_WITH_MPS
from mpslint.model import Applicability, Finding, Fix, Severity
from mpslint.patterns.text import quote, replace
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.packages.versions import catches, version_tested


@rule(
    "MPS106",
    "missing-backend-guard",
    severity=Severity.BREAKS,
    triggers=(b"backends",),
    fix=Applicability.SAFE,
    unfixed="the code around the question was not understood",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    if context.settings.min_torch >= FIRST_WITH_MPS:
        return
    for node in context.index.attributes.get("mps", ()):
        if context.resolve(node) != "torch.backends.mps" or not isinstance(node.ctx, ast.Load):
            continue
        if context.guards.has(node, "mps-attribute", "mps", "mps-built", "caught"):
            continue
        if version_tested(context, node) or catches(context, node, "AttributeError"):
            continue
        call = _question(context, node)
        yield context.finding(
            rule,
            node,
            "torch.backends.mps raises AttributeError before torch 1.12, which min-torch allows",
            applicability=Applicability.SAFE if call is not None else None,
            fix=partial(_fix, context, node, call) if call is not None else None,
        )


def _question(context: Context, node: ast.Attribute) -> ast.Call | None:
    """The call `torch.backends.mps.is_available()` that `node` is part of."""
    attribute = context.index.parents.get(node)
    call = context.index.parents.get(attribute) if attribute is not None else None
    if isinstance(call, ast.Call) and call.func is attribute and not call.args:
        name = context.resolve(call.func) or ""
        return call if name.endswith((".is_available", ".is_built")) else None
    return None


def _fix(context: Context, node: ast.Attribute, call: ast.Call) -> Fix | None:
    source = context.source
    if not isinstance(node.value, ast.Attribute | ast.Name):
        return None
    mark = quote(source)
    holder = source.segment(node.value)
    text = f"hasattr({holder}, {mark}mps{mark}) and {source.segment(call)}"
    parent = context.index.parents[call]
    plain = isinstance(parent, ast.If | ast.While | ast.Assign | ast.Return | ast.keyword) or (
        isinstance(parent, ast.BoolOp) and isinstance(parent.op, ast.And)
    )
    edit = replace(source, call, text if plain else f"({text})")
    return Fix("Ask whether the backend exists first", (edit,), Applicability.SAFE)
