"""Adaptive pooling on MPS needs an input size that is divisible by the output size.

## What it does
Flags adaptive average and maximum pooling in one or two dimensions with an output size other than
1, and `interpolate(mode="area")`.

## Why is this bad?
The average raises `Adaptive pool MPS: input sizes must be divisible by output sizes`, and up to
torch 2.13 the maximum gives wrong values.

## Example
```python
x = F.adaptive_avg_pool2d(x, (7, 7))
```

## What is not flagged
An output size of 1 or None (the input's own size), sizes that are not written out.

## Why is it opt-in?
The size of the input decides and cannot be seen: after a torchvision backbone at
224 pixels everything is divisible.

## References
- the strings of the torch 2.4 to 2.15 macOS binaries; pytorch#190064
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.model import Confidence, Finding, Severity
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.syntax.expressions import keyword

_FUNCTIONS = tuple(
    f"torch.nn.functional.adaptive_{kind}_pool{n}d" for kind in ("avg", "max") for n in (1, 2)
)
_MODULES = tuple(f"torch.nn.Adaptive{kind}Pool{n}d" for kind in ("Avg", "Max") for n in (1, 2))
_UNEVEN = "a size of the output does not divide that of the input"


@rule(
    "MPS410",
    "adaptive-pool",
    severity=Severity.BREAKS,
    triggers=(b"daptive", b"area"),
    default=False,
    unfixed="the size of the input decides, and that is not seen here",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for call in context.calls_of(*_FUNCTIONS, *_MODULES):
        place = 1 if context.resolve(call.func) in _FUNCTIONS else 0
        size = keyword(call, "output_size")
        if size is None and len(call.args) > place:
            size = call.args[place]
        if size is None or not _needs_division(size) or not context.worlds.on_mps(call):
            continue
        wrong = "Max" in ast.unparse(call.func) or "max" in ast.unparse(call.func)
        yield context.finding(
            rule,
            size,
            "gives wrong values on MPS unless it divides the input size"
            if wrong
            else "raises on MPS unless it divides the input size",
            severity=Severity.IGNORES if wrong else None,
            provided=_UNEVEN,
            confidence=Confidence.INFERRED,
        )
    for call in context.calls_of("torch.nn.functional.interpolate"):
        mode = keyword(call, "mode")
        if not isinstance(mode, ast.Constant) or mode.value != "area":
            continue
        if _on_cpu(context, call) or not context.worlds.on_mps(call):
            continue
        yield context.finding(
            rule,
            mode,
            "raises on MPS unless the output size divides the input size",
            provided=_UNEVEN,
            confidence=Confidence.INFERRED,
        )


def _on_cpu(context: Context, call: ast.Call) -> bool:
    return bool(call.args) and context.values.of(call.args[0]).on_cpu


def _needs_division(size: ast.expr) -> bool:
    """Whether an output size is written out and is not all 1 or None."""
    items = size.elts if isinstance(size, ast.Tuple | ast.List) else [size]
    if not all(isinstance(item, ast.Constant) for item in items):
        return False
    return any(item.value not in (1, None) for item in items if isinstance(item, ast.Constant))
