"""`torch.cuda.manual_seed` does not seed MPS.

## What it does
Flags `torch.cuda.manual_seed`, `manual_seed_all`, `seed` and `seed_all` in functions (and modules)
that do not also call `torch.manual_seed` or `torch.mps.manual_seed`. Also where the call is the arm
for CUDA of a dispatch which has arms for other accelerators, none for MPS and no `else`, in a file
that calls neither. And, once in a file that uses a device, `torch.cuda.get_rng_state` and
`set_rng_state` (or `..._all`) in an arm for CUDA where the state of MPS's generator is neither kept
nor put back.

## Why is this bad?
Off CUDA the call is queued and forgotten, so the run is not reproducible on a Mac.
`torch.manual_seed` seeds the CPU and every device. `torch.get_rng_state` is the CPU's state alone:
a run that goes on from a checkpoint draws other numbers on a Mac than one that was not interrupted.

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
test for CUDA or about CUDA; behind another library's function that by its name seeds all
(`seed_everything`, `set_random_seed`, `set_deterministic`); and stand-ins for `torch.manual_seed`
itself. Files that pytest takes for tests, where nothing of theirs is on a device. States of the
generator that only tests keep.

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
from mpslint.patterns.local_names import torch_name
from mpslint.patterns.text import replace
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.purpose.test_code import only_tests_run
from mpslint.semantics.purpose.test_files import is_test_file
from mpslint.semantics.worlds.events import Event

_STATES = {
    "torch.cuda.get_rng_state": "torch.mps.get_rng_state",
    "torch.cuda.get_rng_state_all": "torch.mps.get_rng_state",
    "torch.cuda.set_rng_state": "torch.mps.set_rng_state",
    "torch.cuda.set_rng_state_all": "torch.mps.set_rng_state",
}
_PORTABLE = {
    "torch.cuda.manual_seed": "manual_seed",
    "torch.cuda.manual_seed_all": "manual_seed",
    "torch.cuda.seed": "seed",
    "torch.cuda.seed_all": "seed",
}


@rule(
    "MPS204",
    "cuda-seed",
    severity=Severity.IGNORES,
    triggers=(b"seed", b"rng_state"),
    also=((b"cuda",),),
    fix=Applicability.UNSAFE,
    unfixed="the call is part of more than a statement, or seeds what was not understood",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    if is_test_file(context) and not context.placement.file_uses_devices:
        return
    found: dict[ast.AST, Event] = {}
    for event in context.effects_alone:
        if event.name in _PORTABLE and isinstance(event.node, ast.Call):
            found.setdefault(event.node, event)  # A loop may call several in one place.
    events = list(found.values())
    calls = [event.call for event in events]
    for event in events:
        call, portable = event.call, _PORTABLE[event.name]
        fixable = (
            event.on_mac
            and context.resolve(call.func) == event.name
            and not _seeded_before(context, call, calls)
        )
        yield context.finding(
            rule,
            call.func,
            f"{event.name}() does not seed MPS: torch.{portable}() seeds every device",
            applicability=Applicability.UNSAFE if fixable else None,
            fix=partial(_seed_all, context, call, portable) if fixable else None,
        )
    yield from _states(context, rule)


def _states(context: Context, rule: Rule) -> Iterator[Finding]:
    """The first of the calls that keep or put back the state of CUDA's generator alone, where MPS
    comes as well."""
    if not context.placement.program_uses_devices:
        return
    found: dict[ast.AST, Event] = {}
    for event in context.effects_alone:
        told = event.name in _STATES and isinstance(event.node, ast.Call)
        if told and not event.on_mac:
            found.setdefault(event.node, event)
    events = sorted(found.values(), key=lambda one: one.call.lineno)
    for event in events[:1]:
        if only_tests_run(context, event.call):
            continue
        counterpart = _STATES[event.name]
        yield context.finding(
            rule,
            event.call.func,
            f"{event.name}() leaves out the generator of MPS, so that a run which goes on draws"
            f" other numbers there: {counterpart}() is its counterpart",
            labels=tuple(context.label(one.call, "and here") for one in events[1:]),
            unfixed="what is kept beside it, and under which name, is for its author to say",
        )


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
