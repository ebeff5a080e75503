"""`loss.data[0]` of a tensor without a dimension raises `IndexError` in every torch that has MPS.

## What it does
Flags the index `[0]` on a tensor that is one number for sure: what a criterion of torch's returns
that reduces, `mean()` and `sum()` of everything, what is reckoned from these and from numbers, and
what a criterion out of sight gives where `backward()` is called on it; also behind `.data`,
`.cpu()`, `.numpy()` and the like.

## Why is this bad?
Up to torch 0.3 a loss was a vector of one element, whose number was `loss.data[0]`. Since 0.4 it
has no dimension, and since 0.5 (1.0) an index raises: "invalid index of a 0-dim tensor". An Apple
GPU wants torch 1.12 or later, so the program cannot run there, however its devices are chosen.

## Example
```python
total += loss.data[0]
```
Use instead:
```python
total += loss.item()
```

## What is not flagged
Tensors that may have a dimension (made by `torch.zeros(1)`, a criterion with `reduction="none"`, a
reduction over a dimension, what functions out of sight return); what stands under a test of a
version, of the number of dimensions or of what the tensor can do, or in an `except`; files that
import what only older torches have (`torch.legacy`), where every other one ends before.

## Fix safety
Safe: `item()` is that number in each torch since 0.4, and before the fix the line raised in all of
them.

## References
- https://pytorch.org/blog/pytorch-0_4_0-migration-guide/ (support for 0-dimensional tensors)
- `aten/src/ATen/native/TensorShape.cpp` (`select`)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Confidence, Finding, Fix, Severity
from mpslint.patterns.text import replace_span
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.operands.zero_dims import indexed_numbers
from mpslint.semantics.packages.versions import version_tested, wants_torch_before_1
from mpslint.semantics.worlds.machines import MACS

_ASKS_SHAPE = frozenset({"dim", "ndim", "ndimension", "shape", "size", "numel", "nelement"})
_ASKS_TYPE = frozenset({"hasattr", "isinstance", "len"})


@rule(
    "MPS415",
    "zero-dim-index",
    severity=Severity.BREAKS,
    triggers=(b"[0]",),
    fix=Applicability.SAFE,
    unfixed="how the value is used was not understood",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    if wants_torch_before_1(context):
        return
    for item, tensor in indexed_numbers(context):
        text = _tail(context, item, tensor)
        if text is None or _is_meant(context, item):
            continue
        if not context.worlds.reach(item) & MACS:
            continue
        yield context.finding(
            rule,
            item,
            "raises IndexError: a tensor without a dimension takes no index since torch 0.5;"
            " `.item()` is its number",
            confidence=Confidence.INFERRED,
            applicability=Applicability.SAFE,
            fix=partial(_fix, context, *text),
        )


def _is_meant(context: Context, item: ast.Subscript) -> bool:
    """Whether somebody has thought of tensors that have no dimension."""
    if version_tested(context, item):
        return True
    child: ast.AST = item
    for parent in context.index.ancestors(item):
        if isinstance(parent, ast.ExceptHandler):
            return True
        if isinstance(parent, ast.Try) and parent.handlers and child in parent.body:
            return True
        if isinstance(parent, ast.If | ast.IfExp | ast.While) and child is not parent.test:
            if _asks(parent.test):
                return True
        child = parent
    return False


def _asks(test: ast.expr) -> bool:
    """Whether a test asks for a shape, a type or a method."""
    for part in ast.walk(test):
        if isinstance(part, ast.Attribute) and part.attr in _ASKS_SHAPE:
            return True
        if isinstance(part, ast.Name) and part.id in _ASKS_TYPE:
            return True
    return False


def _tail(context: Context, item: ast.Subscript, tensor: ast.expr) -> tuple[int, int] | None:
    """What follows the tensor, up to the end of the index."""
    start, end = context.source.span(tensor)[1], context.source.span(item)[1]
    text = context.source.text[start:end]
    if not text.endswith("[0]") or "\n" in text or "#" in text:
        return None
    between = text[: len(text) - len(text.lstrip(") \t"))]
    return start + between.rfind(")") + 1, end


def _fix(context: Context, start: int, end: int) -> Fix:
    edit = replace_span(context.source, start, end, ".item()")
    return Fix("Read the number by `item()`", (edit,), Applicability.SAFE)
