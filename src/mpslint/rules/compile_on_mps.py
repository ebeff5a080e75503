"""`torch.compile` on MPS needs torch 2.8, and its CUDA-graph modes have no counterpart there.

## What it does
In files that use MPS, flags `torch.compile` with the default backend where the oldest torch the
project supports (`min-torch`) is older than 2.8, and the modes `max-autotune` and
`reduce-overhead`, which stand on CUDA graphs.

Opt-in: what compiles on MPS changes with every release.

## Why is this bad?
Before 2.8 the compiler has no backend for MPS and raises at the first call, or compiles slowly to
no gain.

## Example
```python
model = torch.compile(model)
```
Use instead:
```python
model = torch.compile(model, disable=device.type == "mps")
```

## What is not flagged
`backend="eager"` and `backend="aot_eager"`; calls with `disable=`; calls under a test for CUDA or
for the device; files that know nothing of MPS.

## Fix safety
Unsafe: on MPS the model runs uncompiled.

## References
- pytorch/pytorch#157957, pytorch/pytorch#150121
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Finding, Fix, Severity
from mpslint.patterns.arguments import add_argument
from mpslint.patterns.text import quote
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.syntax.expressions import keyword

_EAGER = ("eager", "aot_eager")
_GRAPH_MODES = ("max-autotune", "reduce-overhead")


@rule(
    "MPS607",
    "compile-on-mps",
    severity=Severity.IGNORES,
    triggers=(b"compile",),
    default=False,
    fix=Applicability.UNSAFE,
    unfixed="the arguments of the call were not understood",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    if b"mps" not in context.source.data or not _knows_mps(context):
        return
    for call in context.calls_of("torch.compile"):
        reason = _reason(context, call)
        if reason is None or not context.worlds.on_mps(call) or context.worlds.is_caught(call):
            continue
        device = context.devices.at_hand(call)
        fixable = device is not None and not device.is_string and bool(call.args)
        yield context.finding(
            rule,
            call.func,
            reason,
            applicability=Applicability.UNSAFE if fixable else None,
            fix=partial(_fix, context, call, device.text) if fixable and device else None,
        )


def _reason(context: Context, call: ast.Call) -> str | None:
    if keyword(call, "disable") is not None or _text(keyword(call, "backend")) in _EAGER:
        return None
    mode = _text(keyword(call, "mode"))
    if mode in _GRAPH_MODES:
        return f"mode {mode!r} stands on CUDA graphs, which MPS does not have"
    if keyword(call, "backend") is None and context.settings.oldest_torch < (2, 8):
        return f"compiles for MPS only from torch 2.8 on, and {context.settings.oldest_by} is older"
    return None


def _text(node: ast.expr | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _knows_mps(context: Context) -> bool:
    if context.index.attributes.get("mps"):
        return True
    return any(literal.backend == "mps" for literal in context.devices.literals)


def _fix(context: Context, call: ast.Call, device: str) -> Fix | None:
    mark = quote(context.source)
    edit = add_argument(context.source, call, f"disable={device}.type == {mark}mps{mark}")
    if edit is None:
        return None
    return Fix("Leave it uncompiled on MPS", (edit,), Applicability.UNSAFE)
