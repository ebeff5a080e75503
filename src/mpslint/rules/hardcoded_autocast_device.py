"""`autocast` or `GradScaler` is pinned to CUDA.

## What it does
Flags `torch.autocast("cuda", ...)`, `device_type="cuda"` and `torch.amp.GradScaler("cuda")`, also
without the device, which is CUDA then.

## Why is this bad?
Off CUDA they warn and switch themselves off: a Mac trains in float32 without anybody noticing.

## Example
```python
with torch.autocast("cuda", dtype=torch.bfloat16):
    loss = model(x)
```
Use instead:
```python
with torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type != "cpu"):
    loss = model(x)
```

## What is not flagged
Code behind a test for CUDA or about CUDA, what is enabled only where CUDA is, and the CUDA arm of
a choice; questions such as `torch.is_autocast_enabled("cuda")`. Functions that move to CUDA without
asking: their `.cuda()` comes first. `enabled=False`, unless it stands in an autocast that is on on
MPS.

## Fix safety
Safe: on CUDA the same call; on the CPU it stays switched off. `torch.autocast("mps")` raises up to
torch 2.4, so `min-torch` must be 2.5 or newer for the fix. What would stay off on MPS all the same
(a scaler before torch 2.8) gets no device selection of its own.

## References
- `torch/amp/autocast_mode.py`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Finding, Severity
from mpslint.patterns.autocast import is_off, off_on_mps, portable_argument, portable_call
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.cuda_first import needs_cuda
from mpslint.semantics.runtime_calls import about_cuda

_SWITCHED_OFF = ("autocast", "GradScaler", "custom_fwd", "custom_bwd")


@rule(
    "MPS208",
    "hardcoded-autocast-device",
    severity=Severity.IGNORES,
    triggers=(b"cuda", b"GradScaler"),
    fix=Applicability.SAFE,
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for literal in context.devices.literals:
        if literal.backend != "cuda":
            continue
        slot = context.devices.slot(literal.node)
        if slot is None or slot.kind != "autocast" or not isinstance(slot.node, ast.Call):
            continue
        call = slot.node
        name = _last(context, call)
        if (
            name not in _SWITCHED_OFF
            or off_on_mps(context, call)
            or _only_for_cuda(context, literal.node)
        ):
            continue
        parent = context.index.parents[literal.node]
        direct = parent is call or isinstance(parent, ast.keyword)
        fixable = direct and context.settings.min_torch >= (2, 5)
        start, end = context.source.span(literal.node)
        if call.func.lineno != literal.node.lineno:
            # The call is what one looks for; the literal may stand lines below.
            start = context.source.span(call.func)[0]
        yield context.finding_at(
            rule,
            start,
            end,
            _message(name, call),
            applicability=Applicability.SAFE if fixable else None,
            fix=partial(portable_argument, context, call, literal.node) if fixable else None,
        )
    for call in context.calls_of("torch.amp.GradScaler"):
        named = any(keyword.arg in (None, "device") for keyword in call.keywords)
        if call.args or named or _only_for_cuda(context, call) or off_on_mps(context, call):
            continue
        fixable = context.settings.min_torch >= (2, 5)
        yield context.finding(
            rule,
            call.func,
            "GradScaler means CUDA where no device is given: it switches itself off on MPS",
            applicability=Applicability.SAFE if fixable else None,
            fix=partial(portable_call, context, call) if fixable else None,
        )


def _message(name: str, call: ast.Call) -> str:
    if is_off(call):
        return f"{name} is switched off for CUDA only: one around it stays on on MPS"
    return f"{name} for CUDA only: it switches itself off on MPS"


def _only_for_cuda(context: Context, node: ast.AST) -> bool:
    if context.guards.has(node, "cuda", "asked-cuda", "no-mps"):
        return True
    return about_cuda(context, node) or needs_cuda(context, node)


def _last(context: Context, call: ast.Call) -> str:
    name = context.resolve(call.func) or ast.unparse(call.func)
    return name.rsplit(".", 1)[-1]
