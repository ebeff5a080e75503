"""`torch.cuda.manual_seed` does not seed MPS.

## What it does
Flags `torch.cuda.manual_seed`, `manual_seed_all`, `seed` and `seed_all` in functions (and modules)
that do not also call `torch.manual_seed` or `torch.mps.manual_seed`. Also where the call is the arm
for CUDA of a dispatch which has arms for other accelerators, none for MPS and no `else`, in a file
that calls neither.

## Why is this bad?
Off CUDA the call is queued and forgotten, so the run is not reproducible on a Mac.
`torch.manual_seed` seeds the CPU and every device.

## Example
```python
torch.cuda.manual_seed_all(seed)
```
Use instead:
```python
torch.manual_seed(seed)
```

## What is not flagged
The call beside `torch.manual_seed`: it is superfluous then, but nothing is wrong. Code behind a
test for CUDA or about CUDA, and stand-ins for `torch.manual_seed` itself.

## Fix safety
Unsafe: `torch.manual_seed` also seeds the CPU's generator, which changes the numbers drawn there.

## References
- `torch/random.py` (`manual_seed`), `torch/mps/__init__.py`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Finding, Fix, Severity
from mpslint.patterns.selection import torch_name
from mpslint.patterns.text import replace
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.accelerator_arms import arms_without_mps
from mpslint.semantics.context import Context
from mpslint.semantics.facts_known import CUDA_SETTLED
from mpslint.semantics.runtime_calls import about_cuda

_PORTABLE = {
    "torch.cuda.manual_seed": "manual_seed",
    "torch.cuda.manual_seed_all": "manual_seed",
    "torch.cuda.seed": "seed",
    "torch.cuda.seed_all": "seed",
}
_ENOUGH = (
    "torch.manual_seed",
    "torch.random.manual_seed",
    "torch.mps.manual_seed",
    "torch.seed",
    "lightning.seed_everything",
    "pytorch_lightning.seed_everything",
    "transformers.set_seed",
    "accelerate.utils.set_seed",
)


@rule(
    "MPS204",
    "cuda-seed",
    severity=Severity.IGNORES,
    triggers=(b"seed",),
    also=((b"cuda",),),
    fix=Applicability.UNSAFE,
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    calls = list(context.calls_of(*_PORTABLE))
    if not calls:
        return
    enough = {context.index.function(other) for other in context.calls_of(*_ENOUGH)}
    for call in calls:
        if context.index.function(call) in enough or _seeds_each(context, call):
            continue
        if about_cuda(context, call):
            continue
        if context.guards.has(call, *CUDA_SETTLED):
            if not enough and arms_without_mps(context, call) is not None:
                yield context.finding(rule, call.func, _message(context, call))
            continue
        portable = _PORTABLE[context.resolve(call.func) or ""]
        fixable = not _seeded_before(context, call, calls)
        yield context.finding(
            rule,
            call.func,
            _message(context, call),
            applicability=Applicability.UNSAFE if fixable else None,
            fix=partial(_seed_all, context, call, portable) if fixable else None,
        )


def _message(context: Context, call: ast.Call) -> str:
    name = context.resolve(call.func) or ""
    return f"{name}() does not seed MPS: torch.{_PORTABLE[name]}() seeds every device"


def _seeds_each(context: Context, call: ast.Call) -> bool:
    """A stand-in for `torch.manual_seed` that goes through the backends itself."""
    function = context.index.function(call)
    return function is not None and "manual_seed" in function.name


def _seeded_before(context: Context, call: ast.Call, calls: list[ast.Call]) -> bool:
    """Behind another call of the same block, whose fix seeds every device for both."""
    block = context.index.block(context.index.statement(call))
    return any(
        context.index.statement(other) in block
        for other in calls[: calls.index(call)]
        if context.index.function(other) is context.index.function(call)
    )


def _seed_all(context: Context, call: ast.Call, portable: str) -> Fix | None:
    torch = torch_name(context, call)
    if torch is None:
        return None
    edit = replace(context.source, call.func, f"{torch}.{portable}")
    return Fix("Seed every device", (edit,), Applicability.UNSAFE)
