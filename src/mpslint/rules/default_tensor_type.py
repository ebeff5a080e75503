"""`torch.set_default_tensor_type` with a CUDA type works on CUDA only.

## What it does
Flags `torch.set_default_tensor_type(torch.cuda.FloatTensor)` and its string form.

## Why is this bad?
Off CUDA it raises `TypeError`. Where it is guarded by a choice between a CUDA type and a CPU
type, an Apple GPU stays unused. `torch.set_default_device` does the same for every device.

## Example
```python
torch.set_default_tensor_type("torch.cuda.FloatTensor")
```
Use instead:
```python
torch.set_default_device(device)
```

## What is not flagged
CPU types; calls that run only where CUDA is there.

## Fix safety
Unsafe: `set_default_device` also moves what the legacy type left alone (integer factories).
Offered for `FloatTensor`, whose dtype is the default one.

## References
- `torch.set_default_tensor_type` (deprecated since 2.1), `torch.set_default_device` (since 2.0)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Finding, Fix, Severity
from mpslint.patterns.local_names import torch_name
from mpslint.patterns.selection import reference
from mpslint.patterns.text import replace
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.terms.legacy_types import is_cuda_type_name


@rule(
    "MPS112",
    "default-tensor-type",
    severity=Severity.BREAKS,
    triggers=(b"set_default_tensor_type",),
    fix=Applicability.UNSAFE,
    unfixed="set_default_device has no part for the dtype of this type",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for call in context.calls_of("torch.set_default_tensor_type"):
        argument = call.args[0] if call.args else None
        if argument is None or not context.worlds.breaks(call):
            continue
        if _is_cuda(context, argument):
            plain = _text(context, argument).endswith(".FloatTensor")
            yield context.finding(
                rule,
                argument,
                "raises TypeError where there is no CUDA: the type is not available",
                applicability=Applicability.UNSAFE if plain else None,
                fix=partial(_fix, context, call) if plain else None,
            )
        elif isinstance(argument, ast.IfExp):
            arms = [a for a in (argument.body, argument.orelse) if _is_cuda(context, a)]
            if len(arms) == 1:
                yield context.finding(
                    rule,
                    arms[0],
                    "chosen by CUDA alone: with the other type an Apple GPU is never used",
                    severity=Severity.IGNORES,
                )


def _text(context: Context, node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return context.resolve(node) or ""


def _is_cuda(context: Context, node: ast.expr) -> bool:
    if is_cuda_type_name(node):
        return True
    name = context.resolve(node) or ""
    return name.startswith("torch.cuda.") and name.endswith("Tensor")


def _fix(context: Context, call: ast.Call) -> Fix | None:
    torch, device = torch_name(context, call), reference(context, call)
    if torch is None or device is None or len(call.args) != 1 or call.keywords:
        return None
    edit = replace(context.source, call, f"{torch}.set_default_device({device.text})")
    return Fix("Set the default device", (*device.edits, edit), Applicability.UNSAFE)
