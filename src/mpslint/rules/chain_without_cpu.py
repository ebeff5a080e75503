"""A device selection ends in `"mps"` without asking whether MPS is there.

## What it does
Flags `"cuda" if torch.cuda.is_available() else "mps"` and the same choice as a statement.

## Why is this bad?
A machine with neither (a CI runner, a laptop with Linux, a Mac in a virtual machine) gets
`"mps"`, and the first tensor raises.

## Example
```python
device = "cuda" if torch.cuda.is_available() else "mps"
```
Use instead:
```python
device = (
    "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
)
```

## What is not flagged
Chains with a last arm for the CPU, code that runs on macOS only, `"mps"` behind a test of its own.

## Fix safety
Safe: only machines with neither device see a change, and there the code raised.

## References
- run without MPS: `torch.ones(1, device="mps")` raises
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Finding, Fix, Severity
from mpslint.patterns.local_names import torch_name
from mpslint.patterns.text import quote, replace
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.worlds.without_mps import named, replaces_cuda


@rule(
    "MPS115",
    "chain-without-cpu",
    severity=Severity.BREAKS,
    triggers=(b"mps",),
    fix=Applicability.SAFE,
    unfixed="what the code does without a device was not understood",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for event in named(context.worlds, ("mps",)):
        literal = event.node
        if not isinstance(literal, ast.Constant) or event.caught:
            continue
        if context.devices.slot(literal) is None:
            continue
        tests = replaces_cuda(context.worlds, event)
        if not tests:
            continue
        yield context.finding(
            rule,
            literal,
            "chosen wherever CUDA is absent, also where there is no MPS: raises there",
            labels=(context.label(tests[0], "the only test"),),
            applicability=Applicability.SAFE,
            fix=partial(_fix, context, literal),
        )


def _fix(context: Context, node: ast.Constant) -> Fix | None:
    torch = torch_name(context, node)
    if torch is None:
        return None
    mark = quote(context.source, node)
    text = (
        f"{context.source.segment(node)} if {torch}.backends.mps.is_available() "
        f"else {mark}cpu{mark}"
    )
    edit = replace(context.source, node, text)
    return Fix("Fall back to the CPU", (edit,), Applicability.SAFE)
