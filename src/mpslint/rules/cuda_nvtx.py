"""NVTX marks raise where torch was built without CUDA.

## What it does
Flags calls of `torch.cuda.nvtx.range_push`, `range_pop`, `range`, `mark` and their like, where
nothing makes sure that CUDA is there.

## Why is this bad?
`RuntimeError: NVTX functions not installed`. `torch.profiler.record_function` marks a range on
every device.

## Example
```python
with torch.cuda.nvtx.range("forward"):
    y = model(x)
```
Use instead:
```python
with torch.profiler.record_function("forward"):
    y = model(x)
```

## What is not flagged
Guarded calls; the `nvtx` package of NVIDIA itself, whose marks do nothing without a profiler.
Marks under an option that is off by default (`if args.nvtx:`), and those among CUDA's streams and
graphs, are told of where somebody selects the rule by more than the default: who asks for marks
has NVIDIA's profiler, and work on streams is CUDA's own.

## Fix safety
Push, pop and mark as statements are put below a test for CUDA: safe. `range(...)` becomes
`record_function(...)`: unsafe, because the mark is then read by torch's profiler, not NVIDIA's.

## References
- `torch/cuda/nvtx.py` (`_NVTXStub`)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Confidence, Finding, Fix, Severity
from mpslint.patterns.guard import CUDA, guard_statement
from mpslint.patterns.local_names import torch_name
from mpslint.patterns.text import replace
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.gpus.collectives import is_optional
from mpslint.semantics.uses.switch_defaults import is_asked_for

_STREAMS = tuple(
    f"torch.cuda.{name}" for name in ("Stream", "current_stream", "stream", "CUDAGraph", "graph")
)
_NAMES = ("range_push", "range_pop", "range_start", "range_end", "mark", "range")


@rule(
    "MPS209",
    "cuda-nvtx",
    severity=Severity.BREAKS,
    triggers=(b"nvtx",),
    fix=Applicability.SAFE,
    least=Confidence.CERTAIN,
    unfixed="the call is part of more than a statement",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    names = [f"torch.cuda.nvtx.{name}" for name in _NAMES]
    for event in context.worlds.raising(names):
        call, name = event.call, event.name.rsplit(".", 1)[-1]
        applicability, fix = _remedy(context, call, name)
        yield context.finding(
            rule,
            call.func,
            f"torch.cuda.nvtx.{name}() raises RuntimeError where torch has no CUDA",
            confidence=Confidence.INFERRED if _is_for_cuda(context, call) else Confidence.CERTAIN,
            labels=context.refused(event),
            applicability=applicability,
            fix=fix,
        )


def _is_for_cuda(context: Context, call: ast.Call) -> bool:
    """Whether only those come to a mark who ask for it, or who work with CUDA's streams."""
    if is_asked_for(context, call):
        return True
    function = context.index.function(call)
    return function is not None and any(
        context.index.function(other) is function and not is_optional(context, other)
        for other in context.calls_of(*_STREAMS)
    )


def _remedy(
    context: Context, call: ast.Call, name: str
) -> tuple[Applicability | None, partial[Fix | None] | None]:
    parent = context.index.parents[call]
    if isinstance(parent, ast.Expr):
        message = "Mark only where CUDA is there"
        return Applicability.SAFE, partial(guard_statement, context, call, CUDA, message)
    plain = len(call.args) == 1 and not call.keywords
    if name == "range" and plain and isinstance(parent, ast.withitem):
        return Applicability.UNSAFE, partial(_record_function, context, call)
    return None, None


def _record_function(context: Context, call: ast.Call) -> Fix | None:
    torch = torch_name(context, call)
    if torch is None:
        return None
    edit = replace(context.source, call.func, f"{torch}.profiler.record_function")
    return Fix("Mark the range for torch's own profiler", (edit,), Applicability.UNSAFE)
