"""`torch.cuda.synchronize()` raises where there is no CUDA.

## What it does
Flags calls of `torch.cuda.synchronize` that run on every machine.

## Why is this bad?
Off CUDA the call raises `AssertionError: Torch not compiled with CUDA enabled`. Replacing it by
nothing is no cure: MPS queues its work too, so a timing without a wait is wrong there.

## Example
```python
torch.cuda.synchronize()
```
Use instead:
```python
if torch.cuda.is_available():
    torch.cuda.synchronize()
elif torch.backends.mps.is_available():
    torch.mps.synchronize()
```

## What is not flagged
Calls behind a test for CUDA, code about CUDA by its name or imports (CUDA graphs, Triton kernels),
and code for several GPUs (process groups on NCCL, FSDP, `if args.distributed:`). Functions that
give tensors to compiled code by their address (`plugin.run(x.data_ptr())`).
Where a `.cuda()` raises before it, the finding names that move: both have to change. So it is with
a refusal to run without CUDA, in this file or in a function of another one that is called before.

## Fix safety
Safe: on CUDA the same call is made. Where the device that the code works on is at hand (a parameter
`device: torch.device`, `self.device`, what the file or the same fix selects), that one is waited
for (`if device.type == "cuda":`), a string by `==` or `.startswith`.
`torch.accelerator.synchronize()` is not written, because it raises on CPU-only machines and does
not wait on MPS in torch 2.6.

## References
- `torch/cuda/__init__.py` (`_lazy_init`), `torch/mps/__init__.py` (`synchronize`)
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Finding, Severity
from mpslint.patterns.dispatch import dispatch_statement
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.operands.pointers import works_on_addresses


@rule(
    "MPS201",
    "cuda-synchronize",
    severity=Severity.BREAKS,
    triggers=(b"synchronize",),
    also=((b"cuda",),),
    fix=Applicability.SAFE,
    unfixed="the call is part of more than a statement",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    found = [
        event
        for event in context.worlds.raising(("torch.cuda.synchronize",))
        if not works_on_addresses(context, event.call)
    ]
    calls = [event.call for event in found]
    for event in found:
        move = context.worlds.raising_before(event)
        yield context.finding(
            rule,
            event.call.func,
            "torch.cuda.synchronize() raises AssertionError where there is no CUDA",
            labels=(
                *(() if move is None else (context.label(move.node, "this raises before it"),)),
                *context.refused(event),
            ),
            applicability=Applicability.SAFE,
            fix=partial(
                dispatch_statement,
                context,
                event.call,
                "{torch}.mps.synchronize()",
                "Synchronise whichever device is there",
                calls=calls,
            ),
        )
