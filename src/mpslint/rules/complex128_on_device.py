"""complex128 is no dtype of MPS.

## What it does
Flags `dtype=torch.complex128` (also `torch.cdouble` and the builtin `complex`) beside a device
that may be MPS, `.cdouble()` on a tensor there, a complex128 tensor that is moved there, and a
module whose constructor keeps one (`torch.polar` of float64) in a buffer or a parameter.

## Why is this bad?
MPS knows complex64 and complex32. The request raises, in some releases only at the next operation.

## Example
```python
x = torch.zeros(3, dtype=torch.complex128, device=device)
```
Use instead:
```python
x = torch.zeros(
    3, dtype=torch.complex64 if device.type == "mps" else torch.complex128, device=device
)
```

## What is not flagged
What goes to the CPU first, a device that is the CPU or CUDA, code behind a test of the device's
type, files that call `gradcheck`, code behind what only CUDA has (an import of its kernels).

## Fix safety
Safe: CUDA and the CPU keep complex128. Where the device is a call that may not be made twice, the
fix writes complex64 for all devices and is unsafe.

## References
- `MPSGuardImpl.h` of torch 2.13 (capability bits); pytorch#176981
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Confidence, Finding, Severity
from mpslint.patterns.precision import by_rows, least_level, narrow_all
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.wide.wide_dtypes import requests
from mpslint.semantics.worlds.events import Kind


@rule(
    "MPS404",
    "complex128-on-device",
    severity=Severity.BREAKS,
    triggers=(b"complex", b"cdouble", b"polar"),
    fix=Applicability.SAFE,
    unfixed="where the dtype comes from was not understood",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for request, *beside in by_rows(context, requests(context, "complex128")):
        token: ast.expr = request.dtype if request.dtype is not None else request.call.func
        start, end = context.source.span(token)
        if request.dtype is None and isinstance(token, ast.Attribute):
            start, end = context.name_token(token)
        group = (request, *beside)
        level = least_level(context, group)
        yield context.finding_at(
            rule,
            start,
            end,
            "MPS has no complex128: raises when the device is MPS",
            confidence=Confidence.CERTAIN if request.certain else Confidence.INFERRED,
            labels=tuple(context.label(one.call, "here as well") for one in beside),
            applicability=level,
            fix=partial(narrow_all, context, group, "complex128") if level else None,
        )
    for event in context.worlds.events(Kind.WIDE):
        if event.name != "module" or event.value.v != "complex128":  # type: ignore[union-attr]
            continue
        if event.on_mac and not event.caught and isinstance(event.node, ast.Call):
            yield context.finding(
                rule,
                event.node.func,
                "moves a module that holds complex128: raises when the device is MPS",
                confidence=Confidence.INFERRED,
            )
