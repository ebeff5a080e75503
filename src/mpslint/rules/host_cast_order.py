"""Cast to float64 after the copy to the CPU, not before it.

## What it does
Flags `.double().cpu()`, `.to(torch.float64).cpu()`, `.to("cpu", torch.float64)` and a copy from a
device into a float64 tensor of the CPU. Likewise for complex128.

## Why is it opt-in?
Where a tensor is cast before the copy it is mostly on the CPU already, by way of other files:
readers of repositories that nobody here had seen called 2 of 6 findings right.

## Why is this bad?
MPS has no float64. Up to torch 2.13 the cast on the device raises `TypeError`; in 2.14 the copy
with a cast in one call returns zeros without an error.

## Example
```python
total = loss.to("cpu", torch.float64)
```
Use instead:
```python
total = loss.cpu().to(torch.float64)
```

## What is not flagged
Tensors that are on the CPU for certain, casts to dtypes that MPS has, code that runs on CUDA only,
modules that are changed in place, what an object sends to its own device that is the CPU.

## Fix safety
Safe: the same copy is made, and the cast is exact on either side.

## References
- pytorch#197715
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Confidence, Finding, Severity
from mpslint.patterns.host_cast import cast_on_host
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.destinations.destinations import device_argument
from mpslint.semantics.terms.value import Kind
from mpslint.semantics.wide.wide_dtypes import goes_to_host

_WIDE = ("float64", "complex128")
_MESSAGE = "casts before the copy to the CPU: raises on MPS up to torch 2.13, gives zeros in 2.14"


@rule(
    "MPS403",
    "host-cast-order",
    severity=Severity.BREAKS,
    triggers=(b"double", b"float64", b"complex128"),
    default=False,
    fix=Applicability.SAFE,
    unfixed="the order of the cast and the copy cannot be changed here",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for name in ("double", "cdouble", "to", "type"):
        for call in context.index.calls.get(name, ()):
            if not isinstance(call.func, ast.Attribute) or context.resolve(call.func) is not None:
                continue
            yield from _cast(context, rule, call, call.func)
    for call in context.index.calls.get("copy_", ()):
        yield from _copied(context, rule, call)


def _cast(
    context: Context, rule: Rule, call: ast.Call, function: ast.Attribute
) -> Iterator[Finding]:
    dtype = None
    if function.attr in ("to", "type"):
        dtype = context.dtypes.cast_of_to(call)
        if context.dtypes.torch_dtype(dtype) not in _WIDE:
            return
    elif call.args or call.keywords:
        return
    host = call
    device = device_argument(context, call)
    if device is None:
        following = goes_to_host(context, call)
        if following is None or _method(following) == "numpy":
            return
        host = following
    elif context.values.of(device).devices != frozenset({"cpu"}):
        return
    value = context.values.of(function.value)
    if value.on_cpu or value.kind in (Kind.NDARRAY, Kind.MODULE):
        return
    if not value.may_be_on_accelerator and _is_of_object(device):
        return  # All that the object makes is where it is itself: on the CPU.
    if isinstance(context.index.parents[host], ast.Expr):
        return  # Only a module is changed in place.
    if not context.worlds.on_mps(call):
        return
    start, end = context.name_token(function) if dtype is None else context.source.span(dtype)
    yield context.finding_at(
        rule,
        start,
        end,
        _MESSAGE,
        confidence=Confidence.CERTAIN if value.may_be_on_accelerator else Confidence.INFERRED,
        applicability=Applicability.SAFE,
        fix=partial(cast_on_host, context, call, host, dtype),
    )


def _is_of_object(device: ast.expr | None) -> bool:
    """`self.device`"""
    return (
        isinstance(device, ast.Attribute)
        and isinstance(device.value, ast.Name)
        and device.value.id == "self"
    )


def _method(call: ast.Call) -> str | None:
    return call.func.attr if isinstance(call.func, ast.Attribute) else None


def _copied(context: Context, rule: Rule, call: ast.Call) -> Iterator[Finding]:
    """`total.copy_(x)` with `total` a float64 tensor of the CPU and `x` on a device."""
    if not isinstance(call.func, ast.Attribute) or not call.args:
        return
    target, source = call.func.value, call.args[0]
    if context.dtypes.tensor(target) not in _WIDE or not context.values.of(target).on_cpu:
        return
    moved = context.values.of(source).devices
    if moved is not None and "mps" in moved and context.worlds.on_mps(call):
        start, end = context.name_token(call.func)
        yield context.finding_at(rule, start, end, _MESSAGE, confidence=Confidence.INFERRED)
