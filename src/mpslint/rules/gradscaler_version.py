"""`GradScaler` on MPS needs torch 2.8.

## What it does
Flags `torch.amp.GradScaler` for a device that may be MPS where `min-torch` is older than 2.8.

## Why is this bad?
Up to torch 2.7 `unscale_` casts to float64, which MPS lacks: the first `scaler.step` raises
`TypeError`.

## Example
```python
scaler = torch.amp.GradScaler(device.type)
```
Use instead:
```python
scaler = torch.amp.GradScaler(device.type, enabled=device.type == "cuda")
```

## What is not flagged
`min-torch` 2.8 or later, `enabled=` with anything but True (it is taken to know about devices),
a scaler for CUDA or beside `DistributedDataParallel` (no backend of torch.distributed takes MPS
tensors), code behind a test of the device's type or of the torch version.

## Fix safety
Safe: on CUDA the same scaler; elsewhere it is switched off.

## References
- `torch/amp/grad_scaler.py` of the 2.7 and 2.8 wheels; pytorch#142397
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
from mpslint.semantics.destinations.destinations import type_may_be_mps
from mpslint.semantics.gpus.collectives import wrapped_for_ranks
from mpslint.semantics.packages.versions import version_tested
from mpslint.semantics.syntax.expressions import argument, is_path, keyword

_FIRST = (2, 8)


@rule(
    "MPS409",
    "gradscaler-version",
    severity=Severity.BREAKS,
    triggers=(b"GradScaler",),
    fix=Applicability.SAFE,
    unfixed="the arguments of the scaler were not understood",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    if context.settings.oldest_torch >= _FIRST:
        return
    for call in context.calls_of("torch.amp.GradScaler", "torch.amp.grad_scaler.GradScaler"):
        device = argument(call, 0, "device")
        if device is None or not type_may_be_mps(context, device):
            continue
        if not context.worlds.on_mps(call) or version_tested(context, call):
            continue
        if wrapped_for_ranks(context, call):
            continue
        enabled = keyword(call, "enabled")
        if enabled is not None and not _is_true(enabled):
            continue
        fixable = enabled is None and _can_ask(device)
        yield context.finding(
            rule,
            call.func,
            "raises at the first step on MPS before torch 2.8, which "
            f"{context.settings.oldest_by} allows",
            applicability=Applicability.SAFE if fixable else None,
            fix=partial(_fix, context, call, device) if fixable else None,
        )


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _can_ask(device: ast.expr) -> bool:
    return is_path(device) or isinstance(device, ast.Constant)


def _fix(context: Context, call: ast.Call, device: ast.expr) -> Fix | None:
    source = context.source
    mark = quote(source)
    if isinstance(device, ast.Constant):
        enabled = "False"
    elif isinstance(device, ast.Attribute) and device.attr == "type":
        enabled = f"{source.segment(device)} == {mark}cuda{mark}"
    else:
        enabled = f"str({source.segment(device)}).startswith({mark}cuda{mark})"
    edit = add_argument(source, call, f"enabled={enabled}")
    if edit is None:
        return None
    return Fix("Scale gradients on CUDA only", (edit,), Applicability.SAFE)
