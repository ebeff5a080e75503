"""A check for a device is never called: the function itself is always true.

## What it does
Flags `torch.cuda.is_available`, `torch.backends.mps.is_available`, `is_built` and their like
without `()`, where the function itself decides something: a test, an operand of `not`, `and` or
`or`, the condition of `skipif`, or a flag that is only ever tested.

## Why is this bad?
A function is true on every machine. `if torch.cuda.is_available:` takes CUDA on a Mac, where the
first use raises; `skipif(not torch.cuda.is_available)` skips no test anywhere.

## Example
```python
device = "cuda" if torch.cuda.is_available else "cpu"
```
Use instead:
```python
device = "cuda" if torch.cuda.is_available() else "cpu"
```

## What is not flagged
A function that is handed on, stored for a call later, or compared.

## Fix safety
Safe in a choice between CUDA and the CPU: where there is no CUDA, the chosen device raised.
Unsafe elsewhere: where the answer is no, the other arm is taken for the first time.

## References
- Python, "Truth Value Testing": an object is true unless its class says otherwise
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Finding, Fix, Severity
from mpslint.patterns.text import replace
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.terms.facts_known import backend_word

_QUESTIONS = ("is_available", "is_built", "is_bf16_supported", "is_initialized")
_MODULES = (
    "torch.cuda",
    "torch.mps",
    "torch.xpu",
    "torch.accelerator",
    "torch.backends.cuda",
    "torch.backends.cudnn",
    "torch.backends.mps",
    "torch.distributed",
)
_NAMES = frozenset(f"{module}.{question}" for module in _MODULES for question in _QUESTIONS)
_MARKS = frozenset(
    {"pytest.mark.skipif", "unittest.skipIf", "unittest.skipUnless", "pytest.mark.xfail"}
)
_TESTING = (ast.If, ast.While, ast.IfExp, ast.Assert)


@rule(
    "MPS119",
    "availability-not-asked",
    severity=Severity.BREAKS,
    triggers=tuple(question.encode() for question in _QUESTIONS),
    also=((b"torch",),),
    fix=Applicability.SAFE,
    unfixed="the question was not understood",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for node in _mentioned(context):
        name = context.resolve(node)
        if name in _NAMES and (_decides(context, node) or _is_flag(context, node)):
            yield context.finding(
                rule,
                node,
                f"{name} is never called here: the function itself is true on every machine",
                applicability=(level := _level(context, node, name)),
                fix=partial(_fix, context, node, level),
            )


def _mentioned(context: Context) -> Iterator[ast.expr]:
    for question in _QUESTIONS:
        yield from context.index.attributes.get(question, ())
        yield from context.index.names.get(question, ())


def _decides(context: Context, node: ast.expr) -> bool:
    """Whether the truth of an expression is asked for."""
    parent = context.index.parents[node]
    if isinstance(parent, ast.BoolOp):
        # The last one may be what comes of it: `ask = ask or torch.cuda.is_available`.
        return parent.values[-1] is not node or _decides(context, parent)
    if isinstance(parent, ast.UnaryOp):
        return isinstance(parent.op, ast.Not)
    if isinstance(parent, _TESTING):
        return parent.test is node
    if isinstance(parent, ast.comprehension):
        return node in parent.ifs
    if isinstance(parent, ast.Call) and parent.args[:1] == [node]:
        return context.resolve(parent.func) in _MARKS or context.resolve(parent.func) == "bool"
    return False


def _is_flag(context: Context, node: ast.expr) -> bool:
    """Whether what a name holds decides something wherever the name is used."""
    parent = context.index.parents[node]
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1:
        return False
    (target,) = parent.targets
    if not isinstance(target, ast.Name):
        return False
    named = context.index.names.get(target.id, ())
    uses = [use for use in named if isinstance(use.ctx, ast.Load)]
    stores = [use for use in named if isinstance(use.ctx, ast.Store)]
    return len(stores) == 1 and bool(uses) and all(_decides(context, use) for use in uses)


def _level(context: Context, node: ast.expr, name: str) -> Applicability:
    """`"cuda" if torch.cuda.is_available else "cpu"`"""
    choice = context.index.parents[node]
    is_device = (
        name == "torch.cuda.is_available"
        and isinstance(choice, ast.IfExp)
        and choice.test is node
        and backend_word(choice.body) == "cuda"
        and backend_word(choice.orelse) == "cpu"
    )
    return Applicability.SAFE if is_device else Applicability.UNSAFE


def _fix(context: Context, node: ast.expr, level: Applicability) -> Fix:
    asked = f"{context.source.segment(node)}()"
    return Fix("Ask the machine", (replace(context.source, node, asked),), level)
