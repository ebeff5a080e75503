"""MPS has no float64: a tensor of that dtype cannot be created there, moved there or cast there.

## What it does
Flags `dtype=torch.float64` (also `torch.double` and the builtin `float`, which is float64) beside a
device that may be MPS, `.double()` and `.to(torch.float64)` on a tensor or module there, on a
parameter of a module or what is made of one, a float64 tensor that is moved there (a batch that a
`DataLoader` makes of Python's fractions is one), a module whose constructor makes a parameter, a
buffer or a layer float64, the cast of what `.cuda()` has moved, and
`torch.set_default_dtype(torch.float64)` in a file that selects MPS.

## Why is this bad?
It raises `TypeError: Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't
support float64`.

## Example
```python
x = torch.zeros(3, dtype=torch.float64, device=device)
```
Use instead:
```python
x = torch.zeros(
    3, dtype=torch.float32 if device.type == "mps" else torch.float64, device=device
)
```

## What is not flagged
Tensors that go to the CPU first (`.cpu().double()`, also where only a test for MPS sends them
there: `"cpu" if device.type == "mps" else device`), what a handler for `TypeError` (or, around one
statement, for more) is there to replace, a device that is the CPU or CUDA, code behind
a test of the device's type, functions that reduce over processes (no backend of torch.distributed
takes MPS tensors), NumPy's own `dtype=np.float64`, files that call `gradcheck`, tests that name no
MPS (what they test is the dtype, on the devices that they choose), and tensors of which nothing
says that they are on a device. `.double().cpu()` has a rule of its own (`host-cast-order`), and so
have arrays that arrive as float64 (`numpy-float64-to-device`).

## Fix safety
Safe: CUDA and the CPU keep float64. Where the device is a call that may not be made twice, the
fix writes float32 for all devices and is unsafe. Unsafe as well where the tensor meets others that
keep float64 (its dtype is a constant that more is made with; something of unknown dtype is moved to
the same device and added; a model that is cast to float64 where it lies is called with it): the
error would only move. What `.cuda()` moves is told its dtype once that is `.to(device)`, in the
same run.

## References
- the strings of the torch 2.13 macOS binary; pytorch#122602 (closed as expected behaviour)
- `default_collate_fn` in `torch/utils/data/_utils/collate.py`: fractions become float64
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Confidence, Finding, Severity
from mpslint.patterns.moved_wide import is_moved_to_cuda, moved_level, narrow_moved
from mpslint.patterns.precision import (
    by_rows,
    fix_level,
    least_level,
    narrow_all,
    narrow_on_mps,
)
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.gpus.collectives import talks_to_ranks
from mpslint.semantics.purpose.caught_errors import is_caught
from mpslint.semantics.purpose.purpose import speaks_of_mps
from mpslint.semantics.purpose.test_code import only_tests_run
from mpslint.semantics.wide.wide_dtypes import Request, array_origin, reached, requests
from mpslint.semantics.worlds.events import Kind

_MESSAGES = {
    "created": "MPS has no float64: raises TypeError when the device is MPS",
    "cast": "MPS has no float64: raises TypeError where this is on MPS",
    "module": "moves a module that holds float64: raises TypeError when the device is MPS",
    "moved": "moves a float64 tensor: raises TypeError when the device is MPS",
    "one": "moves a float64 tensor among others: raises TypeError when the device is MPS",
}


@rule(
    "MPS401",
    "float64-on-device",
    severity=Severity.BREAKS,
    triggers=(
        b"float64",
        b"double",
        b"Double",
        b"dtype=float",
        b"dtype = float",
        b"to(float",
        b"numpy",
        b"gym",
        b"oader",
    ),
    fix=Applicability.SAFE,
    unfixed="where the dtype comes from was not understood",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    asked = (
        request
        for request in requests(context, "float64")
        if not _left_to_tests(context, request.call)
        and not _from_array(context, request)
        and not talks_to_ranks(context, request.call)
    )
    for group in by_rows(context, asked):
        yield _finding(context, rule, group)
    told = {request.call for request in requests(context, "float64")}
    for event in context.worlds.events(Kind.WIDE):
        if event.value.v != "float64" or event.node in told or not isinstance(event.node, ast.Call):  # type: ignore[union-attr]
            continue
        if _left_to_tests(context, event.node):
            continue
        if is_caught(context, event.node, "TypeError"):
            continue
        if event.on_mac and not event.caught and event.name == "module":
            told.add(event.node)
            yield context.finding(
                rule, event.node.func, _MESSAGES["module"], confidence=Confidence.INFERRED
            )
        if event.on_mac and not event.caught and event.name == "one":
            told.add(event.node)
            yield context.finding(
                rule, event.node.func, _MESSAGES["one"], confidence=Confidence.INFERRED
            )
        if event.on_mac and not event.caught and event.name == "tensor":
            told.add(event.node)
            moved = reached(context, event.node, "float64")
            sure = _MESSAGES["cast" if moved is not None and moved.how == "cast" else "moved"]
            message = sure.replace("a float64", "what may be a float64")
            level = fix_level(context, moved) if moved is not None else None
            fix = None
            if moved is not None and level is not None:
                kept = "None" if event.likely else ""
                fix = partial(narrow_on_mps, context, moved, "float64", kept=kept)
            elif not event.likely and is_moved_to_cuda(context, event.node):
                level = moved_level(context, event.node, "float64")
                fix = partial(narrow_moved, context, event.node, "float64")
            token = event.node.func
            start, end = context.source.span(token)
            if moved is not None and moved.how == "cast" and isinstance(token, ast.Attribute):
                start, end = context.name_token(token)
            yield context.finding_at(
                rule,
                start,
                end,
                message if event.likely else sure,
                confidence=Confidence.INFERRED,
                applicability=level,
                fix=fix if level is not None else None,
            )
    for call in context.calls_of("torch.set_default_dtype"):
        if not call.args or context.dtypes.torch_dtype(call.args[0]) != "float64":
            continue
        if _selects_mps(context) and context.worlds.on_mps(call):
            yield context.finding(
                rule,
                call.args[0],
                "every float tensor becomes float64, which MPS lacks: the first one there raises",
                confidence=Confidence.INFERRED,
            )


def _left_to_tests(context: Context, node: ast.AST) -> bool:
    """In a test that names no MPS: its device is what the test gives it, the CPU or CUDA."""
    return not speaks_of_mps(context) and only_tests_run(context, node)


def _from_array(context: Context, request: Request) -> bool:
    """Whether this is an array on its way to the device, which has a rule of its own."""
    base = request.base if request.how == "moved" else None
    return base is not None and array_origin(context, base) is not None


def _finding(context: Context, rule: Rule, group: list[Request]) -> Finding:
    request, *beside = group
    token: ast.expr = request.dtype if request.dtype is not None else request.call.func
    start, end = context.source.span(token)
    if request.dtype is None and isinstance(token, ast.Attribute):
        start, end = context.name_token(token)
    level = least_level(context, group)
    return context.finding_at(
        rule,
        start,
        end,
        _MESSAGES[request.how],
        confidence=Confidence.CERTAIN if request.certain else Confidence.INFERRED,
        labels=tuple(context.label(one.call, "here as well") for one in beside),
        applicability=level,
        fix=partial(narrow_all, context, group, "float64") if level is not None else None,
    )


def _selects_mps(context: Context) -> bool:
    """Whether the file puts something on MPS."""
    return any(
        literal.backend == "mps" and context.devices.slot(literal.node) is not None
        for literal in context.devices.literals
    )
