"""Forward runs on MPS, backward does not.

## What it does
Flags `torch.linalg.solve`, `det`, `slogdet`, `tensorsolve`, `torch.logdet`, `cdist`, `grid_sample`
and antialiased `interpolate`, in files that call `.backward()`, where `min-torch` is below the
release that has the backward kernel.

## Why is this bad?
The model evaluates on a Mac, and raises `NotImplementedError` in the first training step.

## Why is it opt-in?
Whether gradients flow through the call cannot be seen in the text, and newer releases have all
these kernels.

## Example
```python
x = torch.linalg.solve(a, b)
loss(x).backward()
```
Use instead: torch 2.10 or later (there it goes through `linalg.lu_solve`, which
`torch/_refs/linalg` registers for MPS), or `torch.linalg.solve(a.cpu(), b.cpu()).to(a.device)`.

## What is not flagged
Calls below `torch.no_grad()` or `inference_mode`, data known to be on the CPU, and files without
a backward.

## Fix safety
There is no fix: where to compute instead is a choice.

## References
- pytorch/pytorch#77764 and #141287 (operators without an MPS kernel); `mpslint.facts`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.facts.ops import NEVER, Release, release_text, support
from mpslint.model import Confidence, Finding, Severity
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.operands.op_calls import falls_back, op_calls
from mpslint.semantics.syntax.index import FUNCTIONS

_ANTIALIAS: Release = (2, 14)
_NO_GRADIENT = {"torch.no_grad", "torch.inference_mode", "torch.no_grad.__call__"}


@rule(
    "MPS502",
    "unsupported-backward",
    severity=Severity.BREAKS,
    triggers=(b"backward",),
    default=False,
    unfixed="where to compute instead is for its author to say",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    if "backward" not in context.index.calls or falls_back(context):
        return
    table = dict(support().backward_native_since)
    table["torch.nn.functional.interpolate"] = _ANTIALIAS
    for call, name in op_calls(context, table):
        if name.endswith("interpolate") and not _antialiased(call):
            continue
        if _without_gradient(context, call):
            continue
        since = table[name]
        when = "" if since == NEVER else f" before torch {release_text(since)}"
        yield context.finding(
            rule,
            call.func,
            f"the backward of {name} has no MPS kernel{when}: raises NotImplementedError there",
            confidence=Confidence.INFERRED,
        )


def _antialiased(call: ast.Call) -> bool:
    return any(
        k.arg == "antialias" and isinstance(k.value, ast.Constant) and k.value.value is True
        for k in call.keywords
    )


def _without_gradient(context: Context, call: ast.Call) -> bool:
    for parent in context.index.ancestors(call):
        marks: list[ast.expr] = []
        if isinstance(parent, ast.With | ast.AsyncWith):
            marks = [item.context_expr for item in parent.items]
        elif isinstance(parent, FUNCTIONS):
            marks = parent.decorator_list
        for mark in marks:
            function = mark.func if isinstance(mark, ast.Call) else mark
            if context.resolve(function) in _NO_GRADIENT:
                return True
    return False
