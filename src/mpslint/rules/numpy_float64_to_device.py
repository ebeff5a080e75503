"""NumPy makes float64 arrays, which MPS cannot take.

## What it does
Flags an array that is float64 for certain and comes to a device that may be MPS without a dtype:
`torch.from_numpy(a).to(device)`, `torch.tensor(a, device=device)`, also of a list that holds such
arrays or numbers of NumPy's, and a buffer or parameter of a module that holds one. Arrays that an
object keeps are known by what its class assigns to them, what a function hands back by all of its
`return`s, and what one is given by the calls of the file: one that hands over float64 is enough.
Where the device does not ask for MPS yet, float64-on-device tells of them.

## Why is this bad?
`np.linspace`, `np.zeros`, `np.random.randn` and arrays of Python floats are float64, and so are
means and quotients of integers (`1.0 / np.bincount(y)`) and class weights of scikit-learn. torch
keeps that, and moving it raises `TypeError: Cannot convert a float64 Tensor to MPS`.

## Example
```python
x = torch.from_numpy(np.random.rand(3)).to(device)
```
Use instead:
```python
x = torch.from_numpy(np.random.rand(3)).to(
    device, dtype=torch.float32 if device.type == "mps" else torch.float64
)
```

## What is not flagged
A dtype in the call, `.float()` before it, `a.astype(np.float32)`, `torch.tensor([1.0])` (Python
floats become float32), arrays whose dtype is not known: but beside a fix that lets tensors come to
MPS, what is cast to float32 behind its move (`x.to(device).float()`), since it may be float64.

## Fix safety
Safe: CUDA and the CPU keep float64; a `.float()` that follows comes first instead. Unsafe for what
callers give, unless it is cast to float32 right behind: another caller's dtype may be another. None
is offered where the device is a call that may not be made twice, or for buffers, whose device is
not known when they are made.

## References
- run: `torch.from_numpy(np.zeros(2)).dtype` and `torch.tensor(np.array([1.5])).dtype` are float64
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Confidence, Finding, Fix, Severity
from mpslint.patterns.early_cast import late_in
from mpslint.patterns.late_casts import casts_put_first, device_of, rows_cast_first
from mpslint.patterns.precision import fix_level, narrow_on_mps
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.destinations.destinations import may_be_mps
from mpslint.semantics.operands.sent_to_host import is_sent_to_host
from mpslint.semantics.purpose.caught_errors import is_caught
from mpslint.semantics.syntax.expressions import keyword
from mpslint.semantics.wide.late_casts import CAST_TEXTS
from mpslint.semantics.wide.wide_dtypes import Request, array_origin, arrival, requests
from mpslint.semantics.worlds.events import Event
from mpslint.semantics.worlds.events import Kind as EventKind

_MAKERS = ("torch.tensor", "torch.as_tensor", "torch.asarray")


@rule(
    "MPS402",
    "numpy-float64-to-device",
    severity=Severity.BREAKS,
    triggers=(b"numpy", b"sklearn", *CAST_TEXTS),
    also=((b".to(", b"device", b"register_buffer"),),
    fix=Applicability.SAFE,
    unfixed="where the array is made, or the device that it goes to, was not understood",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    if context.settings.beside_port:
        yield from _cast_late(context, rule)
    if not (context.names.imports("numpy") or context.names.imports("sklearn")):
        return
    told: set[ast.AST] = set()
    for request in requests(context, "float64"):
        told.add(request.call)
        if request.how != "moved" or request.base is None:
            continue
        origin = array_origin(context, request.base)
        if origin is not None:
            assert isinstance(request.call.func, ast.Attribute)
            start, end = context.name_token(request.call.func)
            yield _finding(context, rule, request, start, end, origin)
    for request in _made_on_device(context):
        told.add(request.call)
        start, end = context.source.span(request.call.func)
        yield _finding(context, rule, request, start, end, None)
    for event in context.worlds.events(EventKind.WIDE):
        if event.name == "array" and event.on_mac and not event.caught and event.node not in told:
            told.add(event.node)
            finding = _of_event(context, rule, event)
            if finding is not None:
                yield finding
    yield from _buffers(context, rule)


def _cast_late(context: Context, rule: Rule) -> Iterator[Finding]:
    """`x.to(device).float()`, in a file to which tensors will come on MPS: who casts to float32 may
    have float64."""
    rows = rows_cast_first(context)
    for late in late_in(context) if rows else ():
        if late.move.lineno in rows and device_of(context, late) is not None:
            yield context.finding(
                rule,
                late.move.func,
                "may move float64, which is cast behind that: raises TypeError on MPS",
                confidence=Confidence.INFERRED,
                applicability=Applicability.SAFE,
                fix=partial(_all_first, context),
            )


def _all_first(context: Context) -> Fix:
    edits = casts_put_first(context)
    return Fix("Cast before the move", edits, Applicability.SAFE, follows=True)


def _finding(
    context: Context, rule: Rule, request: Request, start: int, end: int, origin: ast.Call | None
) -> Finding:
    level = fix_level(context, request)
    shared = origin is not None and _is_handed_over(context, origin)
    if level is not None and shared and not _is_cast_behind(context, request.call):
        level = Applicability.UNSAFE  # Other calls may hand over other dtypes.
    labels = (context.label(origin, "float64 comes from this array"),) if origin else ()
    return context.finding_at(
        rule,
        start,
        end,
        "the array is float64: raises TypeError when the device is MPS",
        confidence=Confidence.INFERRED,
        labels=labels,
        applicability=level,
        fix=partial(_fix, context, request, level, "None" if shared else "")
        if level is not None
        else None,
    )


def _of_event(context: Context, rule: Rule, event: Event) -> Finding | None:
    """An array that comes to the device by way of lists, numbers and other functions."""
    call = event.node
    if not isinstance(call, ast.Call) or is_caught(context, call, "TypeError"):
        return None
    if event.value.v != "float64" or is_sent_to_host(context, call):  # type: ignore[union-attr]
        return None
    request = arrival(context, call)
    level = fix_level(context, request) if request is not None else None
    message = "may be" if event.likely else "is"
    return context.finding(
        rule,
        call.func,
        f"the array {message} float64: raises TypeError when the device is MPS",
        confidence=Confidence.INFERRED,
        applicability=level,
        fix=partial(narrow_on_mps, context, request, "float64", kept="None" if event.likely else "")
        if request is not None and level is not None
        else None,
    )


def _fix(context: Context, request: Request, level: Applicability, kept: str) -> Fix | None:
    fix = narrow_on_mps(context, request, "float64", kept=kept)
    return fix._replace(applicability=min(level, fix.applicability)) if fix is not None else None


def _is_handed_over(context: Context, origin: ast.Call) -> bool:
    """Whether the array is one that callers give."""
    array = origin.args[0] if origin.args else None
    return isinstance(array, ast.Name) and any(
        binding.kind == "parameter" for binding in context.flow.reaching(array)
    )


def _is_cast_behind(context: Context, call: ast.Call) -> bool:
    """Whether what was moved, or a part of it, becomes float32 at once: its dtype before is then
    nobody's business."""
    node: ast.AST = context.index.parents[call]
    while isinstance(node, ast.Subscript):
        node = context.index.parents[node]
    following = context.index.parents[node]
    return (
        isinstance(node, ast.Attribute)
        and node.attr == "float"
        and isinstance(following, ast.Call)
        and following.func is node
        and not following.args
    )


def _made_on_device(context: Context) -> Iterator[Request]:
    """`torch.tensor(array, device=device)`"""
    for call in context.calls_of(*_MAKERS):
        device = keyword(call, "device")
        if device is None or not call.args or keyword(call, "dtype") is not None:
            continue
        if context.dtypes.array(call.args[0]) != "float64":
            continue
        if may_be_mps(context, device) and context.worlds.on_mps(call):
            yield Request("created", call, None, device, None, False)


def _buffers(context: Context, rule: Rule) -> Iterator[Finding]:
    """`self.register_buffer("x", torch.from_numpy(array))` moves with its module."""
    for call in context.index.calls.get("register_buffer", ()):
        if len(call.args) < 2 or not isinstance(call.func, ast.Attribute):
            continue
        data = call.args[1]
        if context.dtypes.tensor(data) == "float64" and array_origin(context, data) is not None:
            start, end = context.name_token(call.func)
            yield context.finding_at(
                rule,
                start,
                end,
                "the buffer is float64: moving the module to MPS raises TypeError",
                confidence=Confidence.INFERRED,
            )
