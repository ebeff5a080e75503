"""`baddbmm` and its kind read the input on MPS even when `beta=0`: `torch.empty` there gives NaN.

## What it does
Flags `torch.baddbmm`, `addbmm`, `addmm`, `addmv` and `addr` with `torch.empty(...)` as input and
`beta=0`.

## Why is this bad?
The documentation says that the input is ignored when beta is 0. MPS multiplies it by 0, and what
stands in uninitialised memory may be NaN or infinite.

## Example
```python
scores = torch.baddbmm(torch.empty(shape, device=device), query, key, beta=0)
```
Use instead:
```python
scores = torch.baddbmm(torch.zeros(shape, device=device), query, key, beta=0)
```

## What is not flagged
`torch.zeros`, another beta, code that runs on CUDA or the CPU only.

## Fix safety
Safe: where the input is ignored its values do not matter.

## References
- diffusers#13701, diffusers#11229
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Finding, Fix, Severity
from mpslint.patterns.text import replace_span
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.syntax.expressions import keyword

_FUNCTIONS = tuple(f"torch.{name}" for name in ("baddbmm", "addbmm", "addmm", "addmv", "addr"))
_EMPTY = ("torch.empty", "torch.empty_like")


@rule(
    "MPS411",
    "uninitialised-beta-zero",
    severity=Severity.IGNORES,
    triggers=(b"beta",),
    also=((b"empty",),),
    names=tuple(name.rpartition(".")[2].encode() for name in _FUNCTIONS),
    called=True,
    fix=Applicability.SAFE,
    unfixed="the call that the input is made for was not understood",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for call in context.calls_of(*_FUNCTIONS):
        beta = keyword(call, "beta")
        if not isinstance(beta, ast.Constant) or beta.value != 0 or not call.args:
            continue
        empty = _empty_call(context, call.args[0])
        if empty is None or not context.worlds.on_mps(call):
            continue
        if context.values.of(empty).on_cpu and "device" in ast.unparse(empty):
            continue
        yield context.finding(
            rule,
            empty.func,
            "MPS reads this uninitialised memory although beta is 0: the result may be NaN",
            labels=(context.label(call.func, "the product it is added to"),),
            applicability=Applicability.SAFE,
            fix=partial(_fix, context, empty),
        )


def _empty_call(context: Context, node: ast.expr) -> ast.Call | None:
    """The `torch.empty(...)` that is passed, also by way of a name bound to nothing else."""
    if isinstance(node, ast.Name):
        bindings = context.flow.reaching(node)
        if len(bindings) != 1 or bindings[0].kind != "assign":
            return None
        uses = [
            use
            for use in context.index.names.get(node.id, ())
            if isinstance(use.ctx, ast.Load) and context.flow.reaching(use) == bindings
        ]
        value = bindings[0].value if len(uses) == 1 else None
    else:
        value = node
    if isinstance(value, ast.Call) and context.resolve(value.func) in _EMPTY:
        return value
    return None


def _fix(context: Context, empty: ast.Call) -> Fix | None:
    if not isinstance(empty.func, ast.Attribute):
        return None
    start, end = context.name_token(empty.func)
    text = context.source.text[start:end].replace("empty", "zeros")
    edit = replace_span(context.source, start, end, text)
    return Fix("Initialise the input", (edit,), Applicability.SAFE)
