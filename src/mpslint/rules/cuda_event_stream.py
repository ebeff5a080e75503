"""CUDA events and streams cannot be made where there is no CUDA.

## What it does
Flags `torch.cuda.Event(...)`, `Stream(...)`, `current_stream()` and their like, where nothing makes
sure that CUDA is there.

## Why is this bad?
Each of them raises off CUDA: `RuntimeError: Tried to instantiate dummy base class Event`.

## Example
```python
start = torch.cuda.Event(enable_timing=True)
```
Use instead:
```python
if torch.cuda.is_available():
    start = torch.cuda.Event(enable_timing=True)
elif torch.backends.mps.is_available():
    start = torch.mps.Event(enable_timing=True)
```

## What is not flagged
Guarded calls, and `torch.cuda.stream(s)`: it does nothing for None, and a stream that is not None
was made by a call that is flagged itself. CUDA graphs (`CUDAGraph()`, `make_graphed_callables()`)
and all that leads to them: no port has those, so that who makes one has written that code for CUDA.
Code that is written for CUDA alone: functions and classes named after it, modules of Triton
kernels, and code for several GPUs.

## Why is a part told when asked for?
Events by which somebody measures (`enable_timing=True`) are told. Whoever makes streams by hand has
mostly written that code for CUDA (copies on the side, TensorRT, several GPUs, kernels), or left it
where nobody comes: readers called two in eight of these findings right, and both of two of events.
`extend-select = ["MPS205"]` (or `--extend-select MPS205`) turns them on. Where the same class (or,
outside of classes, the same function) also moves something by `.cuda()` on every machine, the
stream is in the way of a port, and a fix reckons with it.

## Fix safety
Only for events: on MPS a `torch.mps.Event` is made instead; a function that makes several chooses
their class once. Safe where the file does nothing with events that those of MPS cannot: unsafe
where one is recorded or waited for on a stream. On a machine with neither the new code still
raises, because nothing there can be timed by events.

## References
- `torch/cuda/streams.py`, `torch/mps/event.py` (from torch 2.1)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.facts.runtime import cuda_names
from mpslint.model import Applicability, Confidence, Finding, Severity
from mpslint.patterns.events import event_of_the_device, events_level, is_portable
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.syntax.expressions import arguments_for
from mpslint.semantics.worlds.events import Kind

_NAMES = [
    "Event",
    "Stream",
    "ExternalStream",
    "current_stream",
    "default_stream",
    "set_stream",
    "CUDAGraph",
    "graph",
    "graph_pool_handle",
]
_HOMES = ("torch.cuda", "torch.cuda.streams", "torch.cuda.graphs")


@rule(
    "MPS205",
    "cuda-event-stream",
    severity=Severity.BREAKS,
    triggers=(b"cuda",),
    fix=Applicability.SAFE,
    partly=True,
    unfixed="MPS has events alone, and what is done with this was not understood",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    names = [f"{home}.{name}" for home in _HOMES for name in _NAMES]
    found = list(context.worlds.raising(names))
    moving = _moving(context) if found else frozenset()
    for event in found:
        call, name = event.call, event.name.rsplit(".", 1)[-1]
        measures = name == "Event" and _measures(call)
        is_certain = _unit(context, call) in moving
        fixable = name == "Event" and is_portable(call)
        yield context.finding(
            rule,
            call.func,
            f"torch.cuda.{name}() raises {cuda_names()[name].detail} where there is no CUDA",
            confidence=Confidence.CERTAIN if is_certain else Confidence.INFERRED,
            by_request=not measures,
            labels=context.refused(event),
            applicability=partial(events_level, context) if fixable else None,
            fix=partial(event_of_the_device, context, call) if fixable else None,
        )


def _measures(call: ast.Call) -> bool:
    """`Event(enable_timing=True)`"""
    given = arguments_for(call, 0, "enable_timing")
    return any(isinstance(item, ast.Constant) and item.value is True for item in given)


def _moving(context: Context) -> frozenset[ast.AST | None]:
    """The classes and functions that move something to CUDA, where a Mac comes there."""
    return frozenset(
        _unit(context, event.call)
        for event in context.worlds.events(Kind.MOVED)
        if event.on_mac and not event.caught and not event.moves_nothing
    )


def _unit(context: Context, call: ast.Call) -> ast.AST | None:
    """The class in which a call stands, else the function; None: the module itself."""
    return context.index.enclosing(call, ast.ClassDef) or context.index.function(call)
