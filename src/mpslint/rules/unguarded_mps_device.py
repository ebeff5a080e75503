"""The `"mps"` device is used with no test for it.

## What it does
Flags `"mps"` where a device is expected, in code that also runs where MPS is not.

## Why is this bad?
`torch.device("mps")` itself succeeds everywhere; the first tensor that is made there or moved
there raises `RuntimeError` or `NotImplementedError` off a Mac, and on an old macOS.

## Why is it opt-in?
Who writes `"mps"` and asks for nothing has a Mac in mind, where that is right: a tutorial's line,
an example for MPS. Of what readers judged in repositories that nobody had seen, nothing was what a
maintainer would act on.

## Example
```python
device = torch.device("mps")
```
Use instead:
```python
device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
```

## What is not flagged
Files that ask for MPS anywhere (where the answer is kept cannot always be seen).
Code behind a test for MPS, a switch of the user's that says MPS, a test for the device's type or
for macOS, in a `try`, in a function named after MPS, or in a test that is skipped elsewhere;
comparisons, keys and texts; a device that is only handed on.

## Fix safety
Unsafe: the code was written for one device, and the CPU may not be what its author wants
elsewhere.

## References
- PyTorch: docs/source/notes/mps.rst
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.facts.priors import matches
from mpslint.model import Applicability, Finding, Severity
from mpslint.patterns.mps_literal import ask_for_mps
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.purpose.purpose import asks_for_mps
from mpslint.semantics.worlds.without_mps import honest, named, replaces_cuda


@rule(
    "MPS104",
    "unguarded-mps-device",
    severity=Severity.BREAKS,
    triggers=(b"mps",),
    fix=Applicability.UNSAFE,
    default=False,
    unfixed="what should run on other machines was not understood",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    if asks_for_mps(context):
        return  # Whoever asks once knows; where the answer is kept cannot always be seen.
    events = {event.node: event for event in named(context.worlds, ("mps",))}
    for literal in context.devices.literals:
        if literal.backend != "mps" or literal.computed_index or literal.ordinal:
            continue
        slot = context.devices.slot(literal.node)
        if slot is None or slot.kind in ("autocast", "option", "parameter"):
            continue
        event = events.get(literal.node)
        if event is None or not honest(event.worlds) or event.caught:
            continue
        if _about_mps(context, literal.node):
            continue
        if slot.kind == "device" and not _is_used(context, slot.node):
            continue
        if replaces_cuda(context.worlds, event):
            continue  # The last arm of a selection has a rule of its own.
        yield context.finding(
            rule,
            literal.node,
            "MPS is used without asking for it: raises where there is no MPS",
            applicability=Applicability.UNSAFE,
            fix=partial(ask_for_mps, context, literal, slot),
        )


def _about_mps(context: Context, node: ast.expr) -> bool:
    """`def mps(self)`, and tests that say by a decorator or their name when they run."""
    for parent in context.index.ancestors(node):
        if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef):
            if matches("mps-words", parent.name):
                return True
            if any("skip" in ast.unparse(mark).lower() for mark in parent.decorator_list):
                return True
    return False


def _is_used(context: Context, call: ast.AST) -> bool:
    """Whether something is made on or moved to a `torch.device("mps")`, or it is kept for that.

    One that is only handed to a function raises nothing by itself.
    """
    if not isinstance(call, ast.Call) or context.resolve(call.func) != "torch.device":
        return True
    if isinstance(context.index.parents[call], ast.Assign | ast.AnnAssign | ast.Return):
        return True
    return context.devices.slot(call) is not None
