"""`torch.cuda` memory counters read 0 on a Mac, or raise.

## What it does
Flags `torch.cuda.memory_allocated`, `mem_get_info`, `reset_peak_memory_stats`, `memory_summary`
and their like, where nothing makes sure that CUDA is there.

## Why is this bad?
Without CUDA `memory_allocated`, `memory_reserved` and their maxima answer 0, `memory_stats` an
empty dictionary: the report is silently wrong. `mem_get_info`, `reset_peak_memory_stats` and
`memory_summary` raise.

## Example
```python
mb = torch.cuda.memory_allocated() / 2**20
```
Use instead:
```python
if torch.cuda.is_available():
    used = torch.cuda.memory_allocated()
elif torch.backends.mps.is_available():
    used = torch.mps.current_allocated_memory()
```

## What is not flagged
Calls that a test for CUDA, an early return or a `try` already covers. Code that is written for
CUDA alone: functions and classes named after it, loops over the CUDA devices. Code for
several GPUs. Tests that skip themselves without CUDA for the device that they are given, where that
is not the CPU. Memory snapshots (`_record_memory_history`), a tool to debug CUDA. A counter that
reads 0, where the same function moves to CUDA without asking: it raises before it counts.

## Told when asked for
`memory_allocated` is told where somebody asks for the rule (`extend-select = ["MPS203"]`): it stops
nothing, and who asks for what is taken at the moment mostly does so in an arm for CUDA, or in a
package for it alone. Readers of repositories that nobody here had seen called none of 3 right, but
16 of 20 of the maxima.

## Fix safety
Statements that raise (`reset_peak_memory_stats()`) are put below a test for CUDA, which is safe:
of the device at hand (`if device.type == "cuda":`), else of the machine.
`memory_allocated()`, `memory_reserved()` and their maxima also ask MPS for the counter of its own
that is nearest (Metal keeps no maxima: what the driver holds takes their place), which is unsafe,
because the two backends do not count the same things.

## References
- `torch/cuda/memory.py`, `torch/mps/__init__.py` (`current_allocated_memory`)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.facts.runtime import cuda_names
from mpslint.model import Applicability, Finding, Severity
from mpslint.patterns.counters import COUNTERS, ask_each_backend
from mpslint.patterns.guard import CUDA, guard_statement
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.purpose.skipping_tests import skips_for_cuda

_ANSWERS = (
    "memory_allocated",
    "memory_reserved",
    "memory_cached",
    "max_memory_allocated",
    "max_memory_reserved",
    "max_memory_cached",
    "memory_stats",
    "memory_stats_as_nested_dict",
)
_RAISES = (
    "mem_get_info",
    "reset_peak_memory_stats",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_accumulated_memory_stats",
    "memory_summary",
    "set_per_process_memory_fraction",
)
_BY_REQUEST = "memory_allocated"
_HOMES = ("torch.cuda", "torch.cuda.memory")


@rule(
    "MPS203",
    "cuda-memory-stats",
    severity=Severity.BREAKS,
    triggers=(b"cuda",),
    fix=Applicability.SAFE,
    partly=True,
    unfixed="MPS has no counter, or setting, that stands for this one here",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    names = [f"{home}.{name}" for home in _HOMES for name in (*_ANSWERS, *_RAISES)]
    found = [e for e in context.worlds.raising(names) if not skips_for_cuda(context, e.call)]
    calls: dict[str, list[ast.Call]] = {}
    for event in found:
        calls.setdefault(event.name, []).append(event.call)
    for event in found:
        call, name = event.call, event.name.rsplit(".", 1)[-1]
        if name in _ANSWERS:
            if isinstance(context.index.parents[call], ast.Expr):
                continue  # Nobody reads the answer.
            answer = "is empty" if name.startswith("memory_stats") else "reads 0"
            fixable = name in COUNTERS
            yield context.finding(
                rule,
                call.func,
                f"torch.cuda.{name}() {answer} where there is no CUDA",
                severity=Severity.IGNORES,
                labels=context.refused(event),
                by_request=name == _BY_REQUEST,
                applicability=Applicability.UNSAFE if fixable else None,
                fix=partial(ask_each_backend, context, call, name, calls[event.name])
                if fixable
                else None,
            )
            continue
        known = cuda_names().get(name) or cuda_names().get(f"memory.{name}")
        statement = isinstance(context.index.parents[call], ast.Expr)
        yield context.finding(
            rule,
            call.func,
            f"{event.name}() raises {known.detail if known else 'an error'} where there is no CUDA",
            labels=context.refused(event),
            applicability=Applicability.SAFE if statement else None,
            fix=partial(guard_statement, context, call, CUDA, "Call it only where CUDA is there")
            if statement
            else None,
        )
