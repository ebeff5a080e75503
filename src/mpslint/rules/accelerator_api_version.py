"""A `torch.accelerator` call is broken on MPS in part of the supported torch releases.

## What it does
Flags `torch.accelerator.empty_cache`, `memory_*`, `max_memory_*`, `reset_*_memory_stats` and
`get_memory_info` where `min-torch` is below 2.13, and `torch.accelerator.synchronize` where it
is below 2.7.

## Why is this bad?
The memory calls exist from torch 2.9 and fail on MPS with an internal assertion up to 2.12.
`synchronize` returns without waiting on MPS in torch 2.6, so timings there are wrong.

## Example
```python
torch.accelerator.empty_cache()
```
Use instead:
```python
if torch.cuda.is_available():
    torch.cuda.empty_cache()
elif torch.backends.mps.is_available():
    torch.mps.empty_cache()
```

## What is not flagged
Projects whose `min-torch` is at or above the release in which it works, calls that are known not
to run on MPS, and calls below a `try`.

## Fix safety
None: the call also serves other accelerators, which a CUDA and MPS dispatch would drop. Raise
`min-torch` or write the dispatch.

## References
- `MPSAllocator::getDeviceStats` is in the macOS wheels from 2.13; `torch/accelerator/memory.py`
"""

from __future__ import annotations

from collections.abc import Iterator

from mpslint.facts.ops import release_text
from mpslint.facts.runtime import accelerator_on_mps
from mpslint.model import Finding, Severity
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context

_MEMORY = [
    "empty_cache",
    "memory_allocated",
    "max_memory_allocated",
    "memory_reserved",
    "max_memory_reserved",
    "memory_stats",
    "reset_peak_memory_stats",
    "reset_accumulated_memory_stats",
    "get_memory_info",
]


@rule(
    "MPS211",
    "accelerator-api-version",
    severity=Severity.BREAKS,
    triggers=(b"accelerator",),
    unfixed="it serves other accelerators as well, which a choice of CUDA or MPS would drop",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    oldest = context.settings.min_torch
    works = accelerator_on_mps()
    names = [f"torch.accelerator.{name}" for name in (*_MEMORY, "synchronize")]
    for event in context.worlds.calls(names):
        call, qualified = event.call, event.name
        if not (event.on_mac and event.once_ported) or event.caught:
            continue
        if not (context.resolve(call.func) or "").startswith("torch.accelerator."):
            continue  # Of `torch.get_device_module(device)`, which is `torch.mps` there.
        name = qualified.rsplit(".", 1)[-1]
        since = works[name]
        if oldest >= since:
            continue
        outcome, severity = "raises on MPS", Severity.BREAKS
        if name == "synchronize":
            outcome, severity = "does not wait on MPS", Severity.IGNORES
        yield context.finding(
            rule,
            call.func,
            f"torch.accelerator.{name}() {outcome} before torch {release_text(since)} "
            f"(min-torch is {release_text(oldest)})",
            severity=severity,
        )
