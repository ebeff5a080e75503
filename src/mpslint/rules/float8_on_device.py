"""float8 needs a recent torch on MPS.

## What it does
Flags `torch.float8_*` as the dtype of a factory with a device that may be MPS, of a cast or of a
move, where `min-torch` is older than 2.15.

## Why is this bad?
Up to torch 2.14 it raises `Trying to convert Float8_e4m3fn to the MPS backend`; of `float8_e5m2`
no support is known.

## Example
```python
w = w.to(torch.float8_e4m3fn)
```

## What is not flagged
Code behind a test for CUDA, of the torch version, or `hasattr(torch, "float8_e4m3fn")`, tables of
dtypes, comparisons.

## Why is it opt-in?
Float8 code is mostly written for one GPU generation on purpose.

## References
- pytorch#148420; pytorch pull request 194074 (the first release that has it is not confirmed)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.model import Confidence, Finding, Severity
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.destinations.destinations import may_be_mps
from mpslint.semantics.packages.versions import catches, version_tested
from mpslint.semantics.syntax.expressions import keyword

_FIRST = (2, 15)


@rule(
    "MPS405",
    "float8-on-device",
    severity=Severity.BREAKS,
    triggers=(b"float8_",),
    default=False,
    unfixed="which other dtype would do is for its author to say",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    if context.settings.min_torch >= _FIRST:
        return
    for word, nodes in context.index.attributes.items():
        if not word.startswith("float8_"):
            continue
        for node in nodes:
            if context.resolve(node) != f"torch.{word}" or not _on_device(context, node):
                continue
            if (
                not context.worlds.on_mps(node)
                or context.worlds.is_caught(node)
                or version_tested(context, node)
            ):
                continue
            if catches(context, node, "TypeError") or _asked(context):
                continue
            yield context.finding(
                rule,
                node,
                f"MPS has no {word} before torch 2.15: raises TypeError there",
                confidence=Confidence.INFERRED,
            )


def _asked(context: Context) -> bool:
    """Whether the file asks torch for the dtype by name."""
    return any(
        len(call.args) == 2
        and isinstance(call.args[1], ast.Constant)
        and str(call.args[1].value).startswith("float8")
        for call in context.index.calls.get("hasattr", ())
    )


def _on_device(context: Context, node: ast.Attribute) -> bool:
    """The dtype of a `.to(...)`, or of a factory with a device that may be MPS."""
    parent = context.index.parents[node]
    call = context.index.parents[parent] if isinstance(parent, ast.keyword) else parent
    if not isinstance(call, ast.Call) or node is call.func:
        return False
    if isinstance(call.func, ast.Attribute) and call.func.attr == "to":
        return not context.values.of(call.func.value).on_cpu
    return isinstance(parent, ast.keyword) and may_be_mps(context, keyword(call, "device"))
