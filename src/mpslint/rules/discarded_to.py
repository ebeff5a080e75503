"""`x.to(device)` as a statement of its own does nothing: tensors do not move in place.

## What it does
Flags statements that only call `.to()`, `.cuda()`, `.cpu()`, `.float()`, `.half()`, `.double()`,
`.bfloat16()` or `.detach()` of a name that is known to hold a tensor.

## Why is this bad?
`Tensor.to` returns a new tensor and leaves the old one where it is. The name still means the tensor
on the CPU, which the next operation with one on the device rejects. Only modules move in place.

## Example
```python
x.to(device)
```
Use instead:
```python
x = x.to(device)
```

## What is not flagged
Modules, optimizers' and other objects' `.to`; whole batches of a loader, which may be objects with
a `.to` in place (`BatchEncoding` of transformers); names of which nothing is known; a tensor that
is made for the call alone (`torch.zeros(1).to(device)` wakes up the device).

Opt-in (`--select MPS802`): whoever would miss the result has an error on CUDA already, so that in
code that runs there most such statements are lessons, tests and leftovers that hurt nobody. Certain
are tensors that are known to be on the CPU and are moved to a device; what may be there already,
and casts and copies whose result nobody misses, are inferred.

## Fix safety
Unsafe: from then on the name holds the moved tensor, so that later operations run elsewhere.

## References
- `Tensor.to`, `Module.to` in the PyTorch documentation
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Confidence, Finding, Fix, Severity
from mpslint.patterns.text import insert
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.terms.value import CPU_ONLY, Kind

_MOVING = ("to", "cuda", "mps")
_METHODS = ("to", "cuda", "cpu", "float", "half", "double", "bfloat16", "detach", "mps")


@rule(
    "MPS802",
    "discarded-to",
    severity=Severity.IGNORES,
    triggers=tuple(f".{method}(".encode() for method in _METHODS),
    fix=Applicability.UNSAFE,
    default=False,
    unfixed="the result is for more than one name",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for method in _METHODS:
        for call in context.index.calls.get(method, ()):
            function = call.func
            if not isinstance(context.index.parents[call], ast.Expr):
                continue
            if not isinstance(function, ast.Attribute) or not _is_tensor(context, function.value):
                continue
            yield context.finding(
                rule,
                function.value,
                f"stays where it is: `.{method}()` returns a new tensor, which is thrown away",
                confidence=_missed(context, method, function.value),
                applicability=Applicability.UNSAFE,
                fix=partial(_fix, context, function.value),
            )


def _is_tensor(context: Context, node: ast.expr) -> bool:
    if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
        return False
    if isinstance(node, ast.Name) and context.batches.whole_at(node.id, node):
        return False
    value = context.values.of(node)
    if value.kind is not Kind.TENSOR:
        return False
    # What a call of unknown origin returns may be an object with a `.to` of its own.
    return not value.loss or value.devices is not None


def _missed(context: Context, method: str, tensor: ast.expr) -> Confidence:
    """Whether something is known to stay on the CPU, which is to come to a device."""
    moved = method in _MOVING and context.values.of(tensor).devices == CPU_ONLY
    return Confidence.CERTAIN if moved else Confidence.INFERRED


def _fix(context: Context, tensor: ast.expr) -> Fix | None:
    text = context.source.segment(tensor)
    if "\n" in text:
        return None
    start, _ = context.source.span(tensor)
    return Fix(f"Assign to `{text}`", (insert(start, f"{text} = "),), Applicability.UNSAFE)
