"""`DataParallel` has one Apple GPU to use: it adds nothing but `.module`.

## What it does
Flags `torch.nn.DataParallel(model)` where nothing makes sure that there are several GPUs.

## Why is this bad?
Without CUDA devices the wrapper runs the module unchanged, but the checkpoint's keys get a
`module.` in front, so that files saved on a Mac and elsewhere differ from those of a plain model.

## Why is it opt-in?
Nothing raises, and code that unwraps `.module` everywhere works the same on every machine.

## Example
```python
model = nn.DataParallel(model)
```
Use instead:
```python
if torch.cuda.device_count() > 1:
    model = nn.DataParallel(model)
```

## What is not flagged
Calls below a test of CUDA or of `device_count()`.

## Fix safety
There is no fix: code that reads `model.module` would have to change with it.

## References
- `torch/nn/parallel/data_parallel.py` (`DataParallel`)
"""

from __future__ import annotations

from collections.abc import Iterator

from mpslint.model import Finding, Severity
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context

_NAMES = ("torch.nn.DataParallel", "torch.nn.parallel.DataParallel")


@rule(
    "MPS215",
    "data-parallel",
    severity=Severity.IGNORES,
    triggers=(b"DataParallel",),
    default=False,
    unfixed="what reads `model.module`, or its checkpoints, would have to change with it",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for event in context.worlds.raising(_NAMES):
        yield context.finding(
            rule,
            event.call.func,
            "DataParallel has one Apple GPU to use: it only adds `.module` to the model",
        )
