"""`torch.tensor(value, device=device)` at every step is a copy from the host each time.

## What it does
Flags `torch.tensor` and `torch.as_tensor` of Python numbers or lists with a device, at every step
of a loop that trains.

Opt-in: the copy is small, and how much it costs depends on the device and on torch's version.

## Why is this bad?
The tensor is made on the host and copied. On CUDA the copy from pageable memory waits for the
device (measured: one wait per call).

## Example
```python
t = torch.tensor([step], device=device)
```
Use instead:
```python
t = torch.full((1,), step, device=device)
```

## What is not flagged
`torch.full`, `torch.zeros`, `torch.arange` (filled on the device); calls outside of training loops
or that run rarely; tensors without a device.

## References
- `torch.cuda.set_sync_debug_mode` reports the wait
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.model import Confidence, Finding, Severity
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.steps.steps import (
    TRAINING_WORDS,
    at_each,
    that_trains,
    training,
    trains_itself,
)
from mpslint.semantics.syntax.expressions import keyword
from mpslint.semantics.terms.value import CPU_ONLY, Kind


@rule(
    "MPS309",
    "tensor-ctor-in-loop",
    severity=Severity.SLOW,
    triggers=(b"tensor(",),
    also=TRAINING_WORDS,
    default=False,
    unfixed="what it is made of decides which function can fill it on the device",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    if not trains_itself(context):
        return
    for call in context.calls_of("torch.tensor", "torch.as_tensor"):
        device = keyword(call, "device")
        if device is None or not call.args or not _is_python_value(context, call.args[0]):
            continue
        if context.values.device_types(device) == CPU_ONLY:
            continue
        turns = training(context, call)
        if turns is None:
            continue
        yield context.finding(
            rule,
            call.func,
            f"copies from the host {at_each(context, turns)}",
            confidence=Confidence.INFERRED,
            labels=(that_trains(context, turns),),
        )


def _is_python_value(context: Context, node: ast.expr) -> bool:
    if isinstance(node, ast.List | ast.Tuple | ast.ListComp):
        return True
    return context.values.of(node).kind in (Kind.NUMBER, Kind.FLAG)
