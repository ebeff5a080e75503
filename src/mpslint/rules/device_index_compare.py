"""A tensor's device has an index: it never equals `torch.device("cuda")` or `torch.device("mps")`.

## What it does
Flags `==` and `!=` between the `.device` of a tensor and a `torch.device` of a GPU without an
index.

## Why is this bad?
A tensor on the GPU is on `cuda:0` or `mps:0`, and `torch.device("mps") != torch.device("mps:0")`.
The test has the same answer wherever the tensor is.

## Example
```python
if batch.device != torch.device("mps"):
    ...
```
Use instead:
```python
if batch.device.type != "mps":
    ...
```

## What is not flagged
`torch.device("cpu")` and other devices without an index, devices with one, `.device.type`,
two tensors' devices, a `.device` that is a setting (`args.device`, `config.device`,
`self.device`).

## Fix safety
Safe for MPS. Unsafe for CUDA, where the test gets another answer than before.

## References
- `torch.device` documentation; run: `torch.device("cuda") == torch.device("cuda:0")` is False
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Finding, Fix, Severity
from mpslint.patterns.text import quote, replace
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.destinations.destinations import is_device_of_tensor
from mpslint.semantics.syntax.expressions import is_path

_INDEXED = ("cuda", "mps", "xpu", "npu")


@rule(
    "MPS108",
    "device-index-compare",
    severity=Severity.IGNORES,
    triggers=(b".device",),
    also=((b"device(",), tuple(name.encode() for name in _INDEXED)),
    fix=Applicability.SAFE,
    unfixed="what the number is compared for was not understood",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    if not any(_is_gpu(context, call) for call in context.index.calls.get("device", ())):
        return
    for compare in context.index.of(ast.Compare):
        if len(compare.ops) != 1 or not isinstance(compare.ops[0], ast.Eq | ast.NotEq):
            continue
        for left, right in (
            (compare.left, compare.comparators[0]),
            (compare.comparators[0], compare.left),
        ):
            backend = _without_index(context, right)
            if backend is None or not is_device_of_tensor(context, left):
                continue
            answer = "False" if isinstance(compare.ops[0], ast.Eq) else "True"
            safe = Applicability.SAFE if backend == "mps" else Applicability.UNSAFE
            yield context.finding(
                rule,
                right,
                f'a tensor\'s device is "{backend}:0", so this comparison is always {answer}',
                applicability=safe,
                fix=partial(_fix, context, left, right, backend, safe),
            )
            break


def _without_index(context: Context, node: ast.expr) -> str | None:
    """The backend of `torch.device("cuda")`, also by way of a name bound to nothing else."""
    if isinstance(node, ast.Name):
        bindings = context.flow.reaching(node)
        if len(bindings) != 1 or bindings[0].kind != "assign" or bindings[0].value is None:
            return None
        node = bindings[0].value
    if not isinstance(node, ast.Call) or not _is_gpu(context, node):
        return None
    word = node.args[0]
    return str(word.value) if isinstance(word, ast.Constant) else None


def _is_gpu(context: Context, call: ast.Call) -> bool:
    """Whether a call is `torch.device("cuda")` or its like, without an index."""
    if len(call.args) != 1 or call.keywords:
        return False
    word = call.args[0]
    if not isinstance(word, ast.Constant) or word.value not in _INDEXED:
        return False
    return context.resolve(call.func) == "torch.device"


def _fix(
    context: Context, left: ast.expr, right: ast.expr, backend: str, level: Applicability
) -> Fix:
    source = context.source
    text = source.segment(left)
    mark = quote(source)
    if isinstance(right, ast.Call):
        mark = quote(source, right.args[0])
    other = f"{mark}{backend}{mark}" if not is_path(right) else f"{source.segment(right)}.type"
    edits = (replace(source, left, f"{text}.type"), replace(source, right, other))
    return Fix("Compare the types of the devices", edits, level)
