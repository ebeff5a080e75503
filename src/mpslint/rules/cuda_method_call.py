"""`.cuda()` only ever means CUDA.

## What it does
Flags calls of `.cuda()` on tensors, modules and whatever else the file holds that is not another
library's.

## Why is this bad?
Off CUDA it raises `AssertionError: Torch not compiled with CUDA enabled`; behind
`if torch.cuda.is_available():`, or an assertion of it that the whole program has to pass, it does
not run, and a Mac's GPU stays unused. A switch of the user's (`if args.cuda:`) does one or the
other. `.to(device)` means the same on CUDA and works everywhere.

## Example
```python
model = Net().cuda()
```
Use instead:
```python
model = Net().to(device)
```

## What is not flagged
`torch.cuda` itself, `.cuda` of cupy, numba and other libraries; code under a decorator or an early
exit that wants CUDA, and functions, methods and test cases that the file only calls there; parts
that a module moves behind a switch which it compares with the machine (who moves the module moves
them as well); the CUDA arm of a choice that knows MPS or moves things elsewhere; the CUDA half of
tests, which run on the CPU as well; what a process group reduces or gathers, since no backend of it
takes MPS tensors, and what only runs with several GPUs; statements in front of a `raise`; tests
behind a move that has raised already; and code that is about CUDA by the name of its function,
class or file or by the kernels it imports (`def cuda(self)`).

## Fix safety
Safe: `.to(device)` with the device at hand, or one that is selected after the imports, makes the
same move on CUDA. Moves behind a test for CUDA lose the test, all
of them or none, since a model on MPS and a batch on the CPU do not meet. Where they cannot lose it
(`.cuda(args.gpu)`, arms that wrap the model for several GPUs), the CUDA code stays as it is, and an
arm for MPS beside it does what the CPU did and moves the same things. Indices written as numbers
are reported, not rewritten.

## References
- `torch/nn/modules/module.py` (`Module.cuda`), `torch/cuda/__init__.py` (`_lazy_init`)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Finding, Severity
from mpslint.patterns.gates import choice_around
from mpslint.patterns.moves import move_level, move_to_device
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.checked_switches import switch_check
from mpslint.semantics.checkpoints import moves_storage
from mpslint.semantics.context import Context
from mpslint.semantics.facts_known import CUDA_SETTLED
from mpslint.semantics.gated_moves import (
    Asked,
    always_asked,
    asked_by,
    ends_in_raise,
    entry_test,
    in_first_arm,
    in_tests,
    moves_part,
    moves_unasked,
    rightly_gated,
)
from mpslint.semantics.purpose import starts_nccl
from mpslint.semantics.refusals import needless_refusals
from mpslint.semantics.runtime_calls import about_cuda, only_for_cuda
from mpslint.semantics.several_gpus import for_several_gpus, program_for_several
from mpslint.semantics.values import Kind

_RAISES = ".cuda() raises AssertionError where there is no CUDA; .to(device) works everywhere"
_UNUSED = "a Mac's GPU is never used: .cuda() is called only where CUDA is"
_ENDED = "a Mac's GPU is never used: {} ends a run without CUDA before this"
_STAYS = "moved only where the device is a CUDA one: on MPS this stays where it is"
_FOREIGN = {
    Kind.NDARRAY,
    Kind.NUMBER,
    Kind.STRING,
    Kind.FLAG,
    Kind.DEVICE,
    Kind.DEVICE_STRING,
    Kind.CLASS,
}
_LIBRARIES = ("cupy", "numba", "pycuda", "cuda", "jax", "tensorflow", "paddle", "mxnet", "faiss")


@rule(
    "MPS102",
    "cuda-method-call",
    severity=Severity.BREAKS,
    triggers=(b".cuda",),
    fix=Applicability.SAFE,
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for call in context.index.calls.get("cuda", ()):
        function = call.func
        if not isinstance(function, ast.Attribute) or len(call.args) + len(call.keywords) > 2:
            continue
        if _is_foreign(context, function) or moves_storage(context, call):
            continue
        found = _judged(context, call)
        if found is None:
            continue
        severity, message, test = found
        start, end = context.name_token(function)
        yield context.finding_at(
            rule,
            start,
            end,
            message,
            severity=severity,
            labels=(context.label(test, "decided here"),) if test is not None else (),
            applicability=move_level(context, call),
            fix=partial(move_to_device, context, call),
        )


def _judged(context: Context, call: ast.Call) -> tuple[Severity, str, ast.expr | None] | None:
    """What becomes of a move on a Mac, and the test that decides it; None where it is right."""
    settled = context.guards.at(call) & CUDA_SETTLED
    gate = context.chains.gate(call) or choice_around(context, call) if settled else None
    if not settled or (gate is not None and always_asked(context, call, gate)):
        silent = about_cuda(context, call) or for_several_gpus(context, call)
        if silent or ends_in_raise(context, call):
            return None
        return _checked(context, call) or (Severity.BREAKS, _RAISES, None)
    if gate is None:
        return _refused(context, call)
    if program_for_several(context) and moves_unasked(context):
        return None  # What stays on CUDA must not be left alone there.
    asked = asked_by(context, gate)
    if context.guards.has(gate, "cuda-used") or rightly_gated(context, call, asked):
        return None  # Behind an unguarded move, that is the finding.
    if asked is Asked.SWITCH and switch_check(context, call) is not None:
        return None if moves_part(context, call) else (Severity.IGNORES, _UNUSED, gate.test)
    if asked is Asked.SWITCH:
        return Severity.BREAKS, _switched(context, call, gate), gate.test
    unused = _UNUSED if asked is Asked.MACHINE else _STAYS
    return Severity.IGNORES, unused, gate.test


def _refused(context: Context, call: ast.Call) -> tuple[Severity, str, ast.expr | None] | None:
    """The move behind an assertion of CUDA that the whole program has to pass."""
    if "caught" in context.guards.at(call) or starts_nccl(context) or in_tests(context):
        return None
    if about_cuda(context, call):
        return None
    test = entry_test(context, call)
    if test is None or only_for_cuda(context, test):
        return None
    if context.index.function(test) is context.index.function(call):
        if test not in needless_refusals(context):
            return None  # A function that asks for CUDA says what it is for.
    return Severity.IGNORES, _ENDED.format(context.line(test)), test


def _checked(context: Context, call: ast.Call) -> tuple[Severity, str, ast.expr | None] | None:
    """The move behind a switch (`not cfg.cpu`) that the program has checked against the machine."""
    if in_tests(context):
        return None
    test = switch_check(context, call)
    return (Severity.IGNORES, _ENDED.format(context.line(test)), test) if test is not None else None


def _switched(context: Context, call: ast.Call, gate: ast.If | ast.IfExp) -> str:
    """The message for a move behind a switch of the user's."""
    inside = in_first_arm(context, call, gate)
    text = context.source.segment(gate.test)
    text = f"`{text}`" if len(text) <= 40 and "\n" not in text else "the test"
    holds, fails = ("holds", "does not") if inside else ("does not hold", "does")
    return (
        f"where {text} {holds}, .cuda() raises AssertionError on a Mac; "
        f"where it {fails}, the Mac's GPU is not used"
    )


def _is_foreign(context: Context, function: ast.Attribute) -> bool:
    """Another library's `.cuda`, or that of something that is no tensor and no module."""
    qualified = context.resolve(function)
    if qualified is not None:
        return True
    root: ast.expr = function.value
    while isinstance(root, ast.Attribute | ast.Call | ast.Subscript):
        root = root.func if isinstance(root, ast.Call) else root.value
    base = context.resolve(root)
    if base is not None and base.lstrip(".").split(".")[0] in _LIBRARIES:
        return True
    return context.values.of(function.value).kind in _FOREIGN
