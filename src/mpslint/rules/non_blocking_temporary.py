"""A non-blocking copy to MPS from a temporary may read memory that is free again.

## What it does
Flags `.to(device, non_blocking=True)` on a tensor of the CPU that nothing else holds:
`torch.randn(3).to(device, non_blocking=True)`.

## Why is this bad?
On MPS the copy may run after the temporary is gone, and takes what then stands in its memory: a
wrong value without an error.

## Example
```python
x = torch.randn(3).to(device, non_blocking=True)
```
Use instead:
```python
x = torch.randn(3).to(device, non_blocking=device.type == "cuda")
```

## What is not flagged
Tensors that a name, a batch or a container still holds, pinned ones (`.pin_memory()`), a device
that is CUDA or the CPU, code behind a test of the device's type, `non_blocking` that is computed.
Code for several GPUs, of which a Mac has one. A batch that its own copy replaces
(`x = x.to(device, non_blocking=True)`), but beside a fix that lets it come to MPS.

## Fix safety
Safe: on CUDA the call is the same.

## References
- pytorch#189690 (open)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Confidence, Edit, Finding, Fix, Severity
from mpslint.patterns.availability import cuda_available
from mpslint.patterns.layout import folded, unrolled
from mpslint.patterns.local_names import torch_name
from mpslint.patterns.precision import device_test
from mpslint.patterns.text import replace
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.destinations.destinations import device_argument, may_be_mps
from mpslint.semantics.destinations.sure_devices import surely_device
from mpslint.semantics.gpus.several_gpus import for_several_gpus
from mpslint.semantics.reads.let_go import replaces_source
from mpslint.semantics.syntax.expressions import is_path, keyword
from mpslint.semantics.terms.value_tables import FACTORIES, LIKE_FACTORIES

_VIEWS = ("view", "reshape", "unsqueeze", "squeeze", "t", "permute", "transpose", "flatten")
_CASTS = ("float", "half", "long", "int", "bfloat16", "contiguous", "clone")


@rule(
    "MPS407",
    "non-blocking-temporary",
    severity=Severity.IGNORES,
    triggers=(b"non_blocking",),
    fix=Applicability.SAFE,
    unfixed="what the copy is made of was not understood",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for item in context.index.of(ast.keyword):
        if item.arg != "non_blocking" or not isinstance(item.value, ast.Constant):
            continue
        call = context.index.parents[item]
        if item.value.value is not True or not isinstance(call, ast.Call):
            continue
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "to":
            continue
        device = device_argument(context, call)
        if device is None or not may_be_mps(context, device):
            continue
        if for_several_gpus(context, call):
            continue
        if not _lets_go(context, call) or not context.worlds.on_mps(call):
            continue
        level = Applicability.SAFE if is_path(device) else None
        yield context.finding(
            rule,
            item,
            "on MPS the copy may read the temporary's memory after it is free",
            confidence=Confidence.INFERRED,
            applicability=level,
            fix=partial(_fix, context, device, item) if level is not None else None,
        )


def _lets_go(context: Context, call: ast.Call) -> bool:
    """Whether nobody holds what is copied. A batch that the copy replaces is told of only where a
    fix has just let it come to MPS: such code runs on many a Mac, and seldom takes harm."""
    assert isinstance(call.func, ast.Attribute)
    if _is_temporary(context, call.func.value):
        return True
    return context.settings.beside_port and replaces_source(context, call)


def _is_temporary(context: Context, node: ast.expr) -> bool:
    """Whether `node` makes a tensor on the CPU that nothing holds."""
    if isinstance(node, ast.BinOp):
        return context.values.of(node).on_cpu
    if not isinstance(node, ast.Call):
        return False
    name = context.resolve(node.func)
    if name is not None:
        made = name.startswith("torch.") and name[6:] in FACTORIES | LIKE_FACTORIES
        return made and context.values.of(node).on_cpu and not _pinned(node)
    if isinstance(node.func, ast.Attribute) and node.func.attr in (*_VIEWS, *_CASTS):
        return _is_temporary(context, node.func.value)
    return False


def _pinned(node: ast.Call) -> bool:
    return keyword(node, "pin_memory") is not None


def _fix(context: Context, device: ast.expr, flag: ast.keyword) -> Fix | None:
    call, torch = context.index.parents[flag], torch_name(context, device)
    assert isinstance(call, ast.Call)
    if torch is not None and not surely_device(context, device) and replaces_source(context, call):
        test: str | None = cuda_available(torch)  # What may be a str has no short test.
    else:
        test = device_test(context, device, "cuda")
    if test is None:
        return None
    edit, around = replace(context.source, flag.value, test), context.index.parents[call]
    if isinstance(around, ast.DictComp | ast.ListComp | ast.SetComp | ast.GeneratorExp):
        edits: tuple[Edit, ...] = (unrolled(context, around, edit),)
    else:
        edits = folded(context, call, [edit])
    return Fix("Copy without waiting on CUDA only", edits, Applicability.SAFE)
