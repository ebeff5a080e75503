"""complex128 is no dtype of MPS.

## What it does
Flags `dtype=torch.complex128` (also `torch.cdouble` and the builtin `complex`) beside a device
that may be MPS, `.cdouble()` on a tensor there, a complex128 tensor that is moved there
(`torch.polar` and `torch.fft.fft` of float64, `np.exp(1j * x)`), and a module whose constructor
keeps one in a buffer or a parameter.

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
from mpslint.patterns.precision import (
    by_rows,
    fix_level,
    least_level,
    narrow_all,
    narrow_on_mps,
)
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.purpose.caught_errors import is_caught
from mpslint.semantics.syntax.expressions import keyword
from mpslint.semantics.wide.wide_dtypes import reached, requests
from mpslint.semantics.worlds.events import Event, Kind


@rule(
    "MPS404",
    "complex128-on-device",
    severity=Severity.BREAKS,
    triggers=(b"complex", b"cdouble", b"polar", b"fft", b"1j", b"2j"),
    fix=Applicability.SAFE,
    unfixed="where the dtype comes from was not understood",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    told: set[ast.AST] = set()
    for request, *beside in by_rows(context, requests(context, "complex128")):
        told.update(one.call for one in (request, *beside))
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
        call = event.node
        if event.value.v != "complex128" or not isinstance(call, ast.Call) or call in told:  # type: ignore[union-attr]
            continue
        if event.name != "module" and keyword(call, "dtype") is not None:
            continue  # What is written there was looked at above.
        if event.on_mac and not is_caught(context, call, "TypeError") and not event.caught:
            told.add(call)
            yield _of_event(context, rule, event, call)


def _of_event(context: Context, rule: Rule, event: Event, call: ast.Call) -> Finding:
    """What comes to the device by way of other functions, or of a module that holds it."""
    moved = reached(context, call, "complex128") if event.name in ("tensor", "array") else None
    level = fix_level(context, moved) if moved is not None else None
    what = "module that holds complex128" if event.name == "module" else "complex128 tensor"
    kept = "None" if event.likely else ""
    return context.finding(
        rule,
        call.func,
        f"moves a {what}: raises when the device is MPS",
        confidence=Confidence.INFERRED,
        applicability=level,
        fix=partial(narrow_on_mps, context, moved, "complex128", kept=kept)
        if moved is not None and level is not None
        else None,
    )
