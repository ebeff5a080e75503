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
Tests that also ask for CUDA or name macOS, and choices that only run where CUDA is, or that go on
with a CUDA device on each system. NCCL that is
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
from mpslint.patterns.local_names import torch_name
from mpslint.patterns.text import holds_comment, replace
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.worlds.events import Event, Kind
from mpslint.semantics.worlds.machines import MAC, MACS
from mpslint.semantics.worlds.values import CONST, cases_of, places

_TAKING_ONE = ("torch.cuda.set_device",)


@rule(
    "MPS219",
    "nccl-unless-windows",
    severity=Severity.BREAKS,
    triggers=(b"nccl",),
    also=((b"platform", b"os"), (b"gloo",)),
    fix=Applicability.SAFE,
    unfixed="where the backend comes from was not understood",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    told: set[ast.AST] = set()
    for event in context.worlds.events(Kind.BACKEND):
        if _goes_on_with_cuda(context, event):
            continue
        for literal, test in _chosen(event):
            if literal in told:
                continue
            told.add(literal)
            choice = context.index.parents[literal]
            written = choice if isinstance(choice, ast.IfExp) and choice.test is test else None
            yield context.finding(
                rule,
                literal,
                "chosen on every system but Windows: macOS has no NCCL, which raises RuntimeError",
                labels=(context.label(test, "asks for Windows"),),
                applicability=Applicability.SAFE if written else None,
                fix=partial(_ask_for_cuda, context, written) if written else None,
            )


def _chosen(event: Event) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Each NCCL written out that a Mac gets because it is not Windows, with the test for that."""
    others = {atom.v for _, atom in cases_of(event.value, event.worlds & ~MACS)}
    if "nccl" in others or event.caught:
        return
    for _, atom in cases_of(event.value, event.worlds & MAC):
        if atom.kind == CONST and atom.v == "nccl" and len(atom.tests) == 1:
            for literal in places(atom):
                yield literal, next(iter(atom.tests))


def _goes_on_with_cuda(context: Context, event: Event) -> bool:
    """Whether whoever has joined takes a CUDA device without asking, on Windows too: what is chosen
    there is the backend, not whether there are NVIDIA GPUs."""
    named = (
        device
        for device in context.worlds.events(Kind.NAMED)
        if device.name.startswith("cuda")
        and isinstance(context.index.parents[device.node], ast.Call | ast.keyword)
    )
    return any(
        device.function is event.function
        and device.arm == event.arm
        and device.tests == event.tests
        and device.node.lineno > event.node.lineno  # type: ignore[attr-defined]
        for device in (*named, *context.worlds.calls(_TAKING_ONE))
    )


def _ask_for_cuda(context: Context, choice: ast.IfExp) -> Fix | None:
    source, torch = context.source, torch_name(context, choice)
    if torch is None or holds_comment(source, *source.span(choice.test)):
        return None
    cuda, test = f"{torch}.cuda.is_available()", source.segment(choice.test)
    text = f"{test} and {cuda}" if _is_nccl(choice.body) else f"{test} or not {cuda}"
    edit = replace(source, choice.test, text)
    return Fix("Use gloo where there is no CUDA", (edit,), Applicability.SAFE)


def _is_nccl(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == "nccl"
