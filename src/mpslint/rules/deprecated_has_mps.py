"""`torch.has_mps` is deprecated, and says what the wheel knows, not what the machine can run.

## What it does
Flags `torch.has_mps` and `torch.has_cuda`, and `getattr(torch, "has_mps", False)`.

## Why is this bad?
Both warn (`'has_mps' is deprecated, please use 'torch.backends.mps.is_built()'`) and answer for
the build: true on a Mac whose GPU cannot be used.

## Why is it opt-in?
The answer is nearly always the right one on the machines at hand, so there is a deprecation and no
more. Of what readers judged in repositories that nobody had seen, nothing was what a maintainer
would act on.

## Example
```python
if torch.has_mps:
    ...
```
Use instead:
```python
if torch.backends.mps.is_available():
    ...
```

## What is not flagged
Under a version test, where old torch knows nothing better; assignments to the name; other
libraries' `has_mps`.

## Fix safety
Unsafe: the question changes from *built* to *available*.

## References
- `torch/__init__.py` (`_deprecated_attrs`)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Finding, Fix, Severity
from mpslint.patterns.text import replace
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.packages.versions import version_tested

_REPLACEMENT = {
    "has_mps": "backends.mps.is_available()",
    "has_cuda": "cuda.is_available()",
}


@rule(
    "MPS107",
    "deprecated-has-mps",
    severity=Severity.IGNORES,
    triggers=(b"has_mps", b"has_cuda"),
    fix=Applicability.UNSAFE,
    default=False,
    unfixed="how the answer is used was not understood",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for word in _REPLACEMENT:
        for node in _uses(context, word):
            if version_tested(context, node):
                continue
            yield context.finding(
                rule,
                node,
                f"torch.{word} is deprecated and answers for the build, not for this machine",
                applicability=Applicability.UNSAFE,
                fix=partial(_fix, context, node, word),
            )


def _uses(context: Context, word: str) -> Iterator[ast.Attribute | ast.Call]:
    for node in context.index.attributes.get(word, ()):
        if isinstance(node.ctx, ast.Load) and context.resolve(node) == f"torch.{word}":
            yield node
    for call in context.index.calls.get("getattr", ()):
        if len(call.args) >= 2 and context.resolve(call.args[0]) == "torch":
            asked = call.args[1]
            if isinstance(asked, ast.Constant) and asked.value == word:
                yield call


def _fix(context: Context, node: ast.Attribute | ast.Call, word: str) -> Fix:
    holder = node.value if isinstance(node, ast.Attribute) else node.args[0]
    text = f"{context.source.segment(holder)}.{_REPLACEMENT[word]}"
    parent = context.index.parents[node]
    # Some call it, which raises: a bool is no function.
    called = isinstance(parent, ast.Call) and parent.func is node
    edit = replace(context.source, parent if called else node, text)
    return Fix("Ask whether the device is available", (edit,), Applicability.UNSAFE)
