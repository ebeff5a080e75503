"""`.cuda()` only ever means CUDA.

## What it does
Flags calls of `.cuda()` on tensors, modules and whatever else the file holds that is not another
library's.

## Why is this bad?
Off CUDA it raises `AssertionError: Torch not compiled with CUDA enabled`; behind
`if torch.cuda.is_available():` it is skipped, and a Mac's GPU stays unused. `.to(device)` means
the same on CUDA and works everywhere.

## Example
```python
model = Net().cuda()
```
Use instead:
```python
model = Net().to(device)
```

## What is not flagged
`torch.cuda` itself, `.cuda` of cupy, numba and other libraries, code under a decorator, an early
exit or an assertion that wants CUDA, the CUDA arm of a choice that knows MPS or moves things
elsewhere, and code that is about CUDA by the name of its function, class or file or by the kernels
it imports (`def cuda(self)`).

## Fix safety
Safe: `.to(device)` with the device at hand, or one that is selected after the imports, makes the
same move on CUDA. Moves behind a test for CUDA lose the test, all
of them or none, since a model on MPS and a batch on the CPU do not meet. `.cuda(index)` with an
index that is not 0 is reported, not rewritten.

## References
- `torch/nn/modules/module.py` (`Module.cuda`), `torch/cuda/__init__.py` (`_lazy_init`)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Finding, Label, Severity
from mpslint.patterns.gates import choice_around
from mpslint.patterns.moves import move_level, move_to_device
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.runtime_calls import about_cuda
from mpslint.semantics.values import Kind

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
        if _is_foreign(context, function):
            continue
        start, end = context.name_token(function)
        facts = context.guards.at(call)
        severity, message = (
            Severity.BREAKS,
            ".cuda() raises AssertionError where there is no CUDA; .to(device) works everywhere",
        )
        labels: tuple[Label, ...] = ()
        if facts & {"cuda", "asked-cuda", "no-mps", "caught"}:
            gate = context.chains.gate(call) or choice_around(context, call)
            if gate is None:
                continue
            severity, message = (
                Severity.IGNORES,
                "a Mac's GPU is never used: .cuda() is called only where CUDA is",
            )
            labels = (context.label(gate.test, "decided here"),)
        elif about_cuda(context, call):
            continue
        yield context.finding_at(
            rule,
            start,
            end,
            message,
            severity=severity,
            labels=labels,
            applicability=move_level(context, call),
            fix=partial(move_to_device, context, call),
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
