"""The NCCL backend does not exist on macOS.

## What it does
Flags `init_process_group` and `new_group` of `torch.distributed` with `"nccl"` written out,
`DDPStrategy(process_group_backend="nccl")`, and command line options for the backend whose default
is `"nccl"`, where nothing makes sure that CUDA is there.

## Why is this bad?
`RuntimeError: Distributed package doesn't have NCCL built in`. Gloo is there on every platform.

## Why is it opt-in?
NCCL is named by code for several NVIDIA GPUs, of which a Mac has none: of 15 findings on real
code 13 were in programs that cannot mean anything else.

## Example
```python
dist.init_process_group("nccl")
```
Use instead:
```python
dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
```

## What is not flagged
Calls below a test for CUDA or `torch.distributed.is_nccl_available()`, and a backend that comes
from elsewhere. Code that is written for CUDA alone, by its name.

## Fix safety
Safe: with CUDA the backend is the same as before.

## References
- `torch/distributed/distributed_c10d.py`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.facts.priors import matches
from mpslint.model import Applicability, Finding, Severity
from mpslint.patterns.guard import CUDA, guard_expression
from mpslint.patterns.text import quote
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context

_GROUPS = ("torch.distributed.init_process_group", "torch.distributed.new_group")
_STRATEGIES = tuple(
    f"{package}.strategies{module}.DDPStrategy"
    for package in ("lightning.pytorch", "pytorch_lightning", "lightning.fabric")
    for module in ("", ".ddp")
)


@rule(
    "MPS214",
    "nccl-backend",
    severity=Severity.BREAKS,
    triggers=(b"nccl",),
    default=False,
    fix=Applicability.SAFE,
    unfixed="where the backend comes from was not understood",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for literal in _literals(context):
        if not context.worlds.breaks(literal, on_any_way=True):
            continue
        mark = quote(context.source, literal)
        yield context.finding(
            rule,
            literal,
            "NCCL does not exist on macOS: raises RuntimeError where there is no CUDA",
            applicability=Applicability.SAFE,
            fix=partial(
                guard_expression,
                context,
                literal,
                CUDA,
                f"{mark}gloo{mark}",
                "Use gloo where there is no CUDA",
            ),
        )


def _literals(context: Context) -> Iterator[ast.Constant]:
    """Each `"nccl"` that a process group gets, or that an option has by default."""
    for call in context.calls_of(*_GROUPS, *_STRATEGIES):
        places = {"backend", "process_group_backend"}
        candidates: list[ast.expr] = [k.value for k in call.keywords if k.arg in places]
        name = context.resolve(call.func) or ""
        if call.args and name.endswith("init_process_group"):
            candidates.append(call.args[0])
        for candidate in candidates:
            yield from _nccl(candidate)
    for call in context.index.calls.get("add_argument", ()):
        if any(
            isinstance(a, ast.Constant) and matches("backend-options", str(a.value))
            for a in call.args
        ):
            for keyword in call.keywords:
                if keyword.arg == "default":
                    yield from _nccl(keyword.value)


def _nccl(node: ast.expr) -> Iterator[ast.Constant]:
    if isinstance(node, ast.IfExp):
        yield from _nccl(node.body)
        yield from _nccl(node.orelse)
    elif isinstance(node, ast.Constant) and node.value == "nccl":
        yield node
