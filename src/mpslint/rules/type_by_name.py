"""`y.type(x.type())` raises where `x` is on MPS.

## What it does
Flags a cast to the type of another tensor by its name, in what each forward pass runs and wherever
the other tensor is computed on a device.

## Why is this bad?
`x.type()` of a tensor on MPS says `torch.mps.FloatTensor`, and `type` takes the names of the CPU's
and of CUDA's types alone: `ValueError: invalid type: 'torch.mps.FloatTensor'`.

## Example
```python
zeros = torch.zeros(heatmap.shape[0], 1).type(heatmap.type())
```
Use instead:
```python
zeros = torch.zeros(heatmap.shape[0], 1).type_as(heatmap)
```

## What is not flagged
`y.type(x.dtype)` and `y.type(torch.float32)`; tensors of datasets, loaders and `from_numpy`, and
what is read from none of a device's work: on the CPU the name is one that `type` takes. So is what
a module keeps that is made for one pass, called, and never moved.

## Fix safety
Safe: `y.type_as(x)` gives the same dtype, on the device of `x`. The name of a type on CUDA says
only that it is CUDA: what it asks for is on the current GPU, which is that of `x` in a process with
one, and in a replica of `DataParallel`. Where a name holds the type (`t = x.type()`), there is no
fix.

## References
- https://github.com/pytorch/pytorch/issues/118517
- `torch/csrc/utils/tensor_types.cpp` (`options_from_string`)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Confidence, Finding, Fix, Severity
from mpslint.patterns.text import holds_comment, replace_span
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.syntax.expressions import asked_for_type
from mpslint.semantics.wide.typed_by_name import raising_types


@rule(
    "MPS417",
    "type-by-name",
    severity=Severity.BREAKS,
    triggers=(b".type()",),
    fix=Applicability.SAFE,
    unfixed="the name of the type is kept, and who reads it was not understood",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for call in raising_types(context):
        asked = asked_for_type(call.args[0])
        start, end = context.name_token(call.func)  # type: ignore[arg-type]
        yield context.finding_at(
            rule,
            start,
            end,
            "raises ValueError where the other tensor is on MPS, whose types have no name that"
            " `type` takes",
            confidence=Confidence.CERTAIN,
            applicability=Applicability.SAFE if asked is not None else None,
            fix=partial(_fix, context, call, asked) if asked is not None else None,
        )


def _fix(context: Context, call: ast.Call, asked: ast.expr) -> Fix | None:
    source = context.source
    start, _ = context.name_token(call.func)  # type: ignore[arg-type]
    end = source.span(call)[1]
    if holds_comment(source, start, end):
        return None
    text = f"type_as({source.segment(asked)})"
    edit = replace_span(source, start, end, text)
    return Fix("Take the type of the tensor itself", (edit,), Applicability.SAFE)
