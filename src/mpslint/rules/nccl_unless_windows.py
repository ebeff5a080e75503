"""A process group takes NCCL on every system but Windows, so on macOS as well.

## What it does
Flags `"gloo" if os.name == "nt" else "nccl"` and the same choice by `sys.platform` or
`platform.system()`, where a process group or `DDPStrategy` is given it.

## Why is this bad?
The program knows that NCCL is not there on every system, and means to run without it. On macOS it
takes the arm of Linux: `RuntimeError: Distributed package doesn't have NCCL built in`.

## Example
```python
dist.init_process_group("gloo" if os.name == "nt" else "nccl")
```
Use instead:
```python
dist.init_process_group(
    "gloo" if os.name == "nt" or not torch.cuda.is_available() else "nccl"
)
```

## What is not flagged
Tests that also ask for CUDA or name macOS, and choices that only run where CUDA is. NCCL that is
written out with no choice is nccl-backend, which is opt-in.

## Fix safety
Safe: where CUDA is, the backend is the same as before.

## References
- `torch/distributed/distributed_c10d.py`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Finding, Fix, Severity
from mpslint.patterns.selection import torch_name
from mpslint.patterns.text import holds_comment, replace
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context

_SYSTEMS = {"os.name": "nt", "sys.platform": "win32", "platform.system": "Windows"}
_USERS = ("init_process_group", "new_group", "DDPStrategy")
_PLACES = ("backend", "process_group_backend")


@rule(
    "MPS219",
    "nccl-unless-windows",
    severity=Severity.BREAKS,
    triggers=(b"nccl",),
    also=((b"platform", b"os"), (b"gloo",)),
    fix=Applicability.SAFE,
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for choice in _choices(context):
        if _on_windows(context, choice.test) is None:
            continue
        if not context.worlds.breaks(choice):
            continue
        nccl = choice.body if _names(choice.body, "nccl") else choice.orelse
        yield context.finding(
            rule,
            nccl,
            "chosen on every system but Windows: macOS has no NCCL, which raises RuntimeError",
            labels=(context.label(choice.test, "asks for Windows"),),
            applicability=Applicability.SAFE,
            fix=partial(_ask_for_cuda, context, choice),
        )


def _choices(context: Context) -> Iterator[ast.IfExp]:
    """Each choice between NCCL and Gloo that a process group is given."""
    for name in _USERS:
        for call in context.index.calls.get(name, ()):
            given = [k.value for k in call.keywords if k.arg in _PLACES]
            if name == "init_process_group":
                given += call.args[:1]
            for value in given:
                chosen = context.guards.behind(value)
                if isinstance(chosen, ast.IfExp) and (
                    (_names(chosen.body, "nccl") and _names(chosen.orelse, "gloo"))
                    or (_names(chosen.body, "gloo") and _names(chosen.orelse, "nccl"))
                ):
                    yield chosen


def _names(node: ast.expr, backend: str) -> bool:
    return isinstance(node, ast.Constant) and node.value == backend


def _on_windows(context: Context, test: ast.expr) -> bool | None:
    """How the test comes out on Windows alone; None where it asks for something else."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    left, right = test.left, test.comparators[0]
    asked = left.func if isinstance(left, ast.Call) else left
    system = _SYSTEMS.get(context.resolve(asked) or "")
    if system is None or not isinstance(right, ast.Constant) or right.value != system:
        return None
    if isinstance(test.ops[0], ast.Eq | ast.NotEq):
        return isinstance(test.ops[0], ast.Eq)
    return None


def _ask_for_cuda(context: Context, choice: ast.IfExp) -> Fix | None:
    source, torch = context.source, torch_name(context, choice)
    if torch is None or holds_comment(source, *source.span(choice.test)):
        return None
    cuda, test = f"{torch}.cuda.is_available()", source.segment(choice.test)
    text = f"{test} and {cuda}" if _names(choice.body, "nccl") else f"{test} or not {cuda}"
    edit = replace(source, choice.test, text)
    return Fix("Use gloo where there is no CUDA", (edit,), Applicability.SAFE)
