"""`torch.accelerator.current_accelerator()` answers for the build: it may be None.

## What it does
Flags a result of `torch.accelerator.current_accelerator()` that is used as a device although
nobody asked whether there is one.

## Why is it opt-in?
A Mac has its accelerator: what is said here happens on a build for the CPU alone. Readers of
repositories that nobody here had seen called 16 of 16 findings no business of a Mac's.

## Why is this bad?
On a CPU build the call returns None (torch 2.6 raises), and on a CUDA build without a GPU it
names a device that the machine lacks. `.type` of None raises, `.to(None)` moves nothing.

## Example
```python
device = torch.accelerator.current_accelerator()
```
Use instead:
```python
device = torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")
```

## What is not flagged
A result with a fallback (`or torch.device("cpu")`), one that is compared with None or tested,
and files that ask `torch.accelerator.is_available()` or `device_count()` anywhere (or a helper
such as `verify_min_gpu_count()`): there the answer is mostly known by way of an option; a process
that a launcher started for a GPU of its own (`LOCAL_RANK`); a function or class that says by its
name that it is about a GPU (`gpu_memory_usage`), unless it is there to choose one (`setup_gpu`).

## Fix safety
Safe where `min-torch` is 2.7 or later, which have `check_available`; not offered before.

## References
- `torch/accelerator/__init__.py` of the 2.6, 2.7 and 2.13 wheels
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.facts.priors import matches
from mpslint.model import Applicability, Confidence, Finding, Fix, Severity
from mpslint.patterns.local_names import torch_name
from mpslint.patterns.text import quote, replace
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.purpose.purpose import about_gpus
from mpslint.semantics.worlds.machines import CPU

_CHECK_SINCE = (2, 7)
_QUESTIONS = ("torch.accelerator.is_available", "torch.accelerator.device_count")


@rule(
    "MPS113",
    "accelerator-none",
    severity=Severity.BREAKS,
    triggers=(b"current_accelerator",),
    default=False,
    fix=Applicability.SAFE,
    unfixed="check_available is there from torch 2.7 on, and an older one is supported",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    if any(True for _ in context.calls_of(*_QUESTIONS)) or _asks_for_gpus(context):
        return
    for call in context.calls_of("torch.accelerator.current_accelerator"):
        if not context.worlds.reach(call) & CPU or context.worlds.is_caught(call):
            continue
        if _answered(context, call) or _is_launched(context, call) or about_gpus(context, call):
            continue
        fixable = context.settings.oldest_torch >= _CHECK_SINCE
        yield context.finding(
            rule,
            call.func,
            "current_accelerator() is None on a CPU build, and nothing here asks for that",
            confidence=Confidence.INFERRED,
            applicability=Applicability.SAFE if fixable else None,
            fix=partial(_fix, context, call) if fixable else None,
        )


def _asks_for_gpus(context: Context) -> bool:
    """Whether a helper from elsewhere is asked (`verify_min_gpu_count()`)."""
    return any(matches("gpu-checks", name) for name in context.index.calls)


def _is_launched(context: Context, call: ast.Call) -> bool:
    """Whether the function reads what a launcher of one process for each GPU tells it."""
    function = context.index.function(call)
    return any(
        text.value == "LOCAL_RANK" and context.index.function(text) is function
        for text in context.index.strings
    )


def _answered(context: Context, call: ast.Call) -> bool:
    """Whether None is reckoned with: a fallback, a test of the result, or no use as a device."""
    parent = context.index.parents[call]
    if isinstance(parent, ast.NamedExpr):
        around = context.index.parents[parent]
        if isinstance(around, ast.BoolOp | ast.Compare | ast.If | ast.IfExp | ast.UnaryOp):
            return True
    if isinstance(parent, ast.BoolOp | ast.Compare | ast.If | ast.IfExp | ast.UnaryOp | ast.Expr):
        return True
    if isinstance(parent, ast.Return | ast.Call):
        # Whoever gets the result may test it; `print(...)`, `bool(...)`, `str(...)` use no device.
        return not _is_device_call(context, parent)
    if isinstance(parent, ast.Assign | ast.AnnAssign | ast.NamedExpr):
        targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
        return any(_tested(context, t) or not _taken_apart(context, t) for t in targets)
    return isinstance(parent, ast.FormattedValue)


def _is_device_call(context: Context, parent: ast.AST) -> bool:
    return isinstance(parent, ast.Call) and context.resolve(parent.func) == "torch.device"


def _taken_apart(context: Context, target: ast.expr) -> bool:
    """Whether more is done with the result than to hand it on: `.to(None)` and `device=None` mean
    the CPU, `None.type` raises."""
    last = context.values.last_name(target)
    uses = context.index.names if isinstance(target, ast.Name) else context.index.attributes
    for use in uses.get(last or "", ()):
        if isinstance(use.ctx, ast.Store) or ast.unparse(use) != ast.unparse(target):
            continue
        parent = context.index.parents[use]
        if isinstance(parent, ast.Attribute | ast.FormattedValue):
            return True
        if isinstance(parent, ast.Call) and context.resolve(parent.func) == "torch.device":
            return True
    return False


def _tested(context: Context, target: ast.expr) -> bool:
    """Whether the name is compared with None, tested, or given a fallback anywhere."""
    spelled = ast.unparse(target)
    last = context.values.last_name(target)
    if last is None:
        return True
    uses = context.index.names if isinstance(target, ast.Name) else context.index.attributes
    for use in uses.get(last, ()):
        if isinstance(use.ctx, ast.Store) or ast.unparse(use) != spelled:
            continue
        parent = context.index.parents[use]
        if isinstance(parent, ast.Compare | ast.BoolOp | ast.UnaryOp | ast.Assert):
            return True
        if isinstance(parent, ast.If | ast.IfExp | ast.While) and parent.test is use:
            return True
    return False


def _fix(context: Context, call: ast.Call) -> Fix | None:
    torch = torch_name(context, call)
    if torch is None:
        return None
    mark, source = quote(context.source), context.source
    text = f"{source.segment(call.func)}(check_available=True) or {torch}.device({mark}cpu{mark})"
    parent = context.index.parents[call]
    plain = isinstance(parent, ast.Assign | ast.AnnAssign | ast.Return | ast.keyword) or (
        isinstance(parent, ast.Call) and call in parent.args
    )
    edit = replace(source, call, text if plain else f"({text})")
    return Fix("Fall back to the CPU", (edit,), Applicability.SAFE)
