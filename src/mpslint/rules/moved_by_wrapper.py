"""Only `DataParallel` moves a model to the GPU, and it knows no Apple one.

## What it does
Flags `torch.nn.DataParallel(model)` around a model that nothing else moves, where it is called with
inputs.

## Why is this bad?
With one CUDA GPU the wrapper moves the model there, and the inputs at each call. Without CUDA it
moves neither and runs the model as it is: nothing fails, and on a Mac the program quietly runs on
the CPU beside its GPU. Inputs that are moved by hand do not find the model where they are.

## Example
```python
model = nn.DataParallel(Net(), device_ids=[0])
for images in loader:
    print(model(images))
```
Use instead:
```python
model = Net().to(device)
for images in loader:
    print(model(images.to(device)))
```

## What is not flagged
Models that are moved anywhere in the file, be it in a function of the file that they are handed to,
and those that are handed to what stands elsewhere; models whose class moves itself, or is not seen;
wrappers that only a machine with several GPUs comes to: there the model has to be on the first one
already.

## Fix safety
There is no fix: inputs that the wrapper has moved would have to be moved along with the model.

## References
- `torch/nn/parallel/data_parallel.py` (`DataParallel`): without CUDA, and on MPS, it only keeps the
  module
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Finding, Severity
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.processes.wrapped_models import Wrapped, stays_there
from mpslint.semantics.worlds.wrapping import WRAPPERS


@rule(
    "MPS222",
    "moved-by-wrapper",
    severity=Severity.IGNORES,
    triggers=(b"DataParallel",),
    unfixed="inputs that the wrapper has moved would have to be moved along with the model",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    here = {event.call for event in context.worlds.raising(tuple(WRAPPERS))}
    here |= {
        event.call
        for event in context.worlds.calls(tuple(WRAPPERS))
        # Only the question for a GPU is in the way.
        if event.on_cuda and {"cuda", "nccl"} & context.guards.at(event.call) == {"cuda"}
    }
    if not here:
        return
    wrapped = Wrapped(context.tree, partial(_stays, context))
    for name, call in wrapped.found:
        if call in here and wrapped.is_called(name):
            yield context.finding(
                rule,
                call.func,
                "a Mac's GPU is never used: only DataParallel moves this model, and to CUDA alone",
            )


def _stays(context: Context, module: str, name: str) -> bool:
    """Whether a class of another module of the project moves nothing."""
    for use in context.index.names.get(name, ()):
        qualified = context.resolve(use)
        found = context.definition_elsewhere(qualified) if qualified is not None else None
        if found is not None:
            nodes = [binding.node for binding in found.bindings]
            return bool(nodes) and all(
                isinstance(node, ast.ClassDef) and stays_there(node) for node in nodes
            )
    return False
