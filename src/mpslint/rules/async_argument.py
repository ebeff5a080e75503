"""`async` is a keyword since Python 3.7: `x.cuda(async=True)` is a syntax error.

## What it does
Flags `async` as a name, once in a file, at its first place. torch renamed the argument of `cuda`,
`copy_`, `type` and `to` to `non_blocking` in 0.4.1. All else that is to be said of the file is said
as well: it is read with `async` as the name that it was.

## Why is this bad?
No Python that a torch of today runs on can read the file, on any machine, and an Apple GPU wants
torch 1.12 or later.

## Example
```python
target = target.cuda(async=True)
```
Use instead:
```python
target = target.cuda(non_blocking=True)
```

## What is not flagged
`async def`, `async for` and `async with`; files in which something else is no Python of today
either (`print` statements): these are syntax errors.

## Fix safety
Safe: the same argument by the name that torch has for it. Offered for the methods of tensors, where
the file has no function of that name with an argument `async` itself; other names that are `async`
need another name from somebody who knows who else uses them.

## References
- https://docs.python.org/3/whatsnew/3.7.html (reserved keywords)
- https://github.com/pytorch/pytorch/releases/tag/v0.4.1 (`async` to `non_blocking`)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Confidence, Finding, Fix, Severity
from mpslint.patterns.text import replace_span
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.sources.old_names import WORD, places

_METHODS = ("cuda", "copy_", "type", "to")
"""Of tensors, which took `async`."""


@rule(
    "MPS414",
    "async-argument",
    severity=Severity.BREAKS,
    triggers=(WORD.encode(),),
    fix=Applicability.SAFE,
    unfixed="who else uses this name is not seen",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    found = places(context.source.text)
    if not found:
        return
    ours = _arguments(context)
    named = [at for at in found if at in ours]
    first = named[0] if named else found[0]
    others = [at for at in found if at != first]
    rows = sorted({context.source.position(at)[0] for at in others})
    also = f" (also at line{'s' * (len(rows) > 1)} {', '.join(map(str, rows))})" if rows else ""
    cure = "torch calls it `non_blocking=` since 0.4.1" if named else "give it another name"
    yield context.finding_at(
        rule,
        first,
        first + len(WORD),
        f"syntax error: `{WORD}` is a keyword since Python 3.7: {cure}{also}",
        confidence=Confidence.CERTAIN,
        applicability=Applicability.SAFE if named else None,
        fix=partial(_fix, context, named) if named else None,
    )


def _arguments(context: Context) -> frozenset[int]:
    """Where `async=` is given to a method of tensors."""
    own = {
        context.index.parents[context.index.parents[item]].name  # type: ignore[attr-defined]
        for item in context.index.of(ast.arg)
        if item.arg == WORD
        and isinstance(context.index.parents[context.index.parents[item]], ast.FunctionDef)
    }
    return frozenset(
        context.source.span(item)[0]
        for item in context.index.of(ast.keyword)
        if item.arg == WORD
        and isinstance(call := context.index.parents[item], ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr in _METHODS
        and call.func.attr not in own
    )


def _fix(context: Context, named: list[int]) -> Fix:
    edits = tuple(replace_span(context.source, at, at + len(WORD), "non_blocking") for at in named)
    return Fix("Call the argument `non_blocking`", edits, Applicability.SAFE)
