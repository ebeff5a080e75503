"""`torch.cuda.empty_cache()` does nothing on MPS.

## What it does
Flags calls of `torch.cuda.empty_cache` that run on every machine, and those that are the arm for
CUDA of a dispatch which has arms for other accelerators (`torch.xpu.empty_cache()`), none for MPS
and no `else`.

## Why is this bad?
Off CUDA the call returns without a word, and the memory that MPS caches stays taken: one report
measured 1,050 MB kept, and 2.7 MB after `torch.mps.empty_cache()`.

## Example
```python
torch.cuda.empty_cache()
```
Use instead:
```python
if torch.cuda.is_available():
    torch.cuda.empty_cache()
elif torch.backends.mps.is_available():
    torch.mps.empty_cache()
```

## What is not flagged
Files and functions that choose between CUDA and the CPU only: nothing of theirs is on MPS yet.
Files that know no device and leave it to other modules. Calls behind a test for CUDA, in code for
CUDA only or beside a `.cuda()` that nothing guards, and with `torch.mps.empty_cache()` in the same
function. Functions of a script that nothing calls.

## Fix safety
Safe: on CUDA the same call is made. `torch.accelerator.empty_cache()` is not written, because it
runs into an internal assertion on MPS in torch 2.9 to 2.12.

## References
- `torch/mps/__init__.py` (`empty_cache`), pytorch/pytorch#186430
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Finding, Fix, Severity
from mpslint.patterns.backend_arm import mps_arm
from mpslint.patterns.dispatch import dispatch_statement
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.accelerator_arms import Arms, arms_without_mps
from mpslint.semantics.context import Context
from mpslint.semantics.cuda_first import needs_cuda
from mpslint.semantics.dead import is_dead
from mpslint.semantics.purpose import chooses_cuda, leaves_device_to_others, only_gpu_is_cuda
from mpslint.semantics.runtime_calls import about_cuda
from mpslint.semantics.several_gpus import for_several_gpus, program_for_several


@rule(
    "MPS202",
    "cuda-empty-cache",
    severity=Severity.IGNORES,
    triggers=(b"empty_cache",),
    also=((b"cuda",),),
    fix=Applicability.SAFE,
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    yield from _left_out(context, rule)
    if only_gpu_is_cuda(context) or leaves_device_to_others(context):
        return
    others = list(context.calls_of("torch.mps.empty_cache", "torch.accelerator.empty_cache"))
    for call in context.calls_of("torch.cuda.empty_cache"):
        if context.guards.has(call, "cuda", "asked-cuda", "no-mps"):
            continue
        if about_cuda(context, call) or for_several_gpus(context, call):
            continue
        if needs_cuda(context, call) or chooses_cuda(context, call) or is_dead(context, call):
            continue
        function = context.index.function(call)
        if any(context.index.function(other) is function for other in others):
            continue
        yield context.finding(
            rule,
            call.func,
            "torch.cuda.empty_cache() does nothing on MPS: the memory stays taken",
            applicability=Applicability.SAFE,
            fix=partial(
                dispatch_statement,
                context,
                call,
                "{torch}.mps.empty_cache()",
                "Empty the cache of whichever device is there",
            ),
        )


def _left_out(context: Context, rule: Rule) -> Iterator[Finding]:
    """Dispatches over several accelerators that leave MPS out."""
    for call in context.calls_of("torch.cuda.empty_cache"):
        arms = arms_without_mps(context, call)
        if arms is None or is_dead(context, call):
            continue
        if about_cuda(context, call):
            continue
        # A file for several GPUs that has a dispatch for single devices runs on these, too.
        if not program_for_several(context) and for_several_gpus(context, call):
            continue
        message = f"empties the caches of {arms.served} only: on MPS the memory stays taken"
        if arms.refusal is None:
            yield context.finding(
                rule,
                call.func,
                message,
                applicability=Applicability.SAFE,
                fix=partial(_serve_mps, context, arms, call),
            )
        else:
            # An arm alone would be dead: the list has to change first.
            label = context.label(arms.refusal.test, "MPS is turned away here")
            yield context.finding(rule, call.func, message, labels=(label,))


def _serve_mps(context: Context, arms: Arms, call: ast.Call) -> Fix | None:
    if not isinstance(call.func, ast.Attribute):
        return None
    edit = mps_arm(context, arms.cuda, call.func)
    return Fix("Empty the cache of MPS as well", (edit,), Applicability.SAFE) if edit else None
