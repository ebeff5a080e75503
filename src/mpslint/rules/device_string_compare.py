"""The device of a tensor never equals a string: `x.device == "cuda"` is always False.

## What it does
Flags `==`, `!=` and `in` between the `.device` of a tensor, or a device that is made by
`torch.device(...)`, and the name of a device.

## Why is this bad?
A `torch.device` equals no str, so the test has one answer wherever the tensor is, and
`"cuda" in x.device` raises `TypeError`.

## Example
```python
if x.device == "cuda":
    ...
```
Use instead:
```python
if x.device.type == "cuda":
    ...
```

## What is not flagged
`x.device.type == "cuda"`, `str(x.device) == "cuda:0"`, a `.device` that is a setting and may
be a str (`args.device`, `config.device`, `self.device`), but where all that is stored there is made
by `torch.device`, or is a parameter whose default is. Such a device and `"cuda"` alone: no Mac has
one, and the answer is what is meant.

## Fix safety
Safe where only MPS is asked for. Unsafe otherwise: on CUDA the test gets another answer.

## References
- run with torch 2.13: `torch.ones(1).device == "cpu"` is False
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Confidence, Finding, Fix, Severity
from mpslint.patterns.text import replace
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.destinations.destinations import is_device_of_tensor, is_made_device

_BACKENDS = ("cpu", "cuda", "mps", "xpu", "npu", "meta")


@rule(
    "MPS109",
    "device-string-compare",
    severity=Severity.IGNORES,
    triggers=(b".device",),
    also=(tuple(f"{quote}{name}".encode() for name in _BACKENDS for quote in "\"'"),),
    fix=Applicability.SAFE,
    unfixed="what the other device does in this test was not understood",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for compare in context.index.of(ast.Compare):
        if len(compare.ops) != 1:
            continue
        left, operator, right = compare.left, compare.ops[0], compare.comparators[0]
        if isinstance(operator, ast.Eq | ast.NotEq):
            if isinstance(left, ast.Constant):
                left, right = right, left
            words = _words([right])
        elif isinstance(operator, ast.In | ast.NotIn):
            if isinstance(left, ast.Constant):
                left, right = right, left
                words = _words([right])
            else:
                words = _words(right.elts) if isinstance(right, _LITERALS) else None
        else:
            continue
        if words and is_device_of_tensor(context, left):
            yield _finding(context, rule, compare, left, words, "a tensor's device")
        elif words and not set(words) <= _CUDA and is_made_device(context, left):
            yield _finding(context, rule, compare, left, words, "a torch.device")


_CUDA = frozenset({"cuda", "cuda:0"})
"""What no Mac has, so that a test for it is answered as it is meant there."""
_LITERALS = (ast.Tuple, ast.List, ast.Set)


def _words(items: list[ast.expr]) -> list[str] | None:
    """The device names of string constants, None where something else is among them."""
    words = []
    for item in items:
        if not isinstance(item, ast.Constant) or not isinstance(item.value, str):
            return None
        if item.value.split(":")[0] not in _BACKENDS:
            return None
        words.append(item.value)
    return words


def _finding(
    context: Context,
    rule: Rule,
    compare: ast.Compare,
    left: ast.expr,
    words: list[str],
    what: str,
) -> Finding:
    reversed_in = isinstance(compare.ops[0], ast.In | ast.NotIn) and compare.left is not left
    answer = "False" if isinstance(compare.ops[0], ast.Eq | ast.In) else "True"
    level = Applicability.SAFE if set(words) == {"mps"} else Applicability.UNSAFE
    message = (
        "a torch.device has no members: this raises TypeError"
        if reversed_in
        else f"{what} never equals a str, so this comparison is always {answer}"
    )
    return context.finding(
        rule,
        left,
        message,
        severity=Severity.BREAKS if reversed_in else None,
        confidence=Confidence.INFERRED,
        applicability=level,
        fix=partial(_fix, context, compare, left, words, level),
    )


def _fix(
    context: Context, compare: ast.Compare, left: ast.expr, words: list[str], level: Applicability
) -> Fix | None:
    source = context.source
    text = source.segment(left)
    indexed = [":" in word for word in words]
    if any(indexed) and not all(indexed):
        return None
    edit = replace(source, left, f"str({text})" if all(indexed) else f"{text}.type")
    return Fix("Compare what can be equal", (edit,), level)
