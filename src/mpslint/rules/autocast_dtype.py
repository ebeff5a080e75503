"""Autocast on MPS takes float16 and bfloat16 only.

## What it does
Flags `torch.autocast` with `dtype=torch.float32` or `torch.float64` on a device that may be MPS.

## Why is this bad?
Autocast warns (`In MPS autocast, but the target dtype is not supported. Disabling autocast`) and
switches itself off: everything inside runs in the dtype of its inputs.

## Example
```python
with torch.autocast("mps", dtype=torch.float32):
    loss = model(x)
```
Use instead:
```python
with torch.autocast("mps", dtype=torch.bfloat16):
    loss = model(x)
```

## What is not flagged
`enabled=False`, other dtypes, autocast for CUDA or the CPU.

## References
- `torch/amp/autocast_mode.py`; AutoForge#55
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.model import Finding, Severity
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.destinations.destinations import type_may_be_mps
from mpslint.semantics.syntax.expressions import argument, keyword


@rule(
    "MPS408",
    "autocast-dtype",
    severity=Severity.IGNORES,
    triggers=(b"autocast",),
    unfixed="whether float16 or bfloat16 should stand here is for its author to say",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for call in context.calls_of("torch.autocast"):
        device = argument(call, 0, "device_type")
        dtype = argument(call, 1, "dtype")
        if device is None or dtype is None or not type_may_be_mps(context, device):
            continue
        word = context.dtypes.torch_dtype(dtype)
        if word not in ("float32", "float64") or not context.worlds.on_mps(call):
            continue
        enabled = keyword(call, "enabled")
        if enabled is not None and not _is_true(enabled):
            continue
        yield context.finding(
            rule, dtype, f"MPS autocast does not take {word}: it warns and switches itself off"
        )


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True
