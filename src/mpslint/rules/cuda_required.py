"""A program refuses to run without CUDA.

## What it does
Flags `assert torch.cuda.is_available()`, and `if not torch.cuda.is_available():` that raises or
exits; also below a switch that asks for CUDA and is on by itself
(`settings.get("use_cuda", True)`, `default=True`).

## Why is this bad?
Most of what asks for a GPU this way runs on MPS as well, once its devices are selected, and on the
CPU for a try. The check says no before anything can.

## Example
```python
assert torch.cuda.is_available(), "needs a GPU"
```
Use instead:
```python
assert torch.cuda.is_available() or torch.backends.mps.is_available(), "needs a GPU"
```

## What is not flagged
Tests; functions, classes and files that are about CUDA by their names or by the kernels they
import, or about several GPUs by their names, the process group that they start or the test around
them (`if world_size > 1:`); classes that are about a GPU by their names or make CUDA's streams,
graphs or events, and functions of such names that are handed something: who uses them has chosen
them; checks of what the user or a caller has asked for
(`if device == "cuda" and not torch.cuda.is_available()`, `if args.cuda: assert ...` where nothing
says that it is on by itself, `if args.trace and not torch.cuda.is_available()` where `--trace` has
to be given), or under a switch that is not on by default and without which the same function goes
another way (`if config.parallel:` ... `else:`); checks that know MPS or another accelerator;
refusals that name NVIDIA, or stand in front of a process group on NCCL; a function that is never
called, and so refuses nobody (availability-not-asked).

## Fix safety
Unsafe: the test also lets MPS in. Whether the code below runs there is for its author to say. The
devices that are written out below (hardcoded-cuda-device) are selected in the same fix.

## References
- PyTorch: docs/source/notes/mps.rst
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Finding, Label, Severity
from mpslint.patterns.behind_refusal import open_refusal
from mpslint.patterns.refusal import admit_mps
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.gpus.collectives import is_optional
from mpslint.semantics.gpus.several_gpus import needs_several_gpus
from mpslint.semantics.purpose.purpose import given_to_gpus
from mpslint.semantics.syntax.expressions import names_in
from mpslint.semantics.uses.switch_defaults import (
    has_another_way,
    is_asked_for,
    is_asked_for_by_default,
)
from mpslint.semantics.worlds.refused import needless_refusals, refusals_of_those_who_ask

_OWN = tuple(f"torch.cuda.{name}" for name in ("Stream", "CUDAGraph", "Event", "graph"))
"""What only CUDA has in this form: who is made of it has no other device in mind."""
_REFUSES = "refuses to run without CUDA: a Mac's GPU is never asked for"
_BY_DEFAULT = (
    "refuses to run without CUDA unless it is told otherwise: a Mac's GPU is never asked for"
)


@rule(
    "MPS118",
    "cuda-required",
    severity=Severity.BREAKS,
    triggers=(b"is_available", b"device_count"),
    also=((b"cuda",),),
    fix=Applicability.UNSAFE,
    unfixed="what needs CUDA below this was not understood",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    asking = {
        test: _BY_DEFAULT
        for test in refusals_of_those_who_ask(context.worlds)
        if is_asked_for_by_default(context, test)
    }
    for test, message in {
        **dict.fromkeys(needless_refusals(context.worlds), _REFUSES),
        **asking,
    }.items():
        if given_to_gpus(context, test) or needs_several_gpus(context, test):
            continue
        if is_asked_for(context, test) or _stands_among_streams(context, test):
            continue
        if has_another_way(context, test):
            continue
        fixable = admit_mps(context, test) is not None
        yield context.finding(
            rule,
            test,
            message,
            labels=_end(context, test),
            applicability=Applicability.UNSAFE if fixable else None,
            fix=partial(open_refusal, context, test) if fixable else None,
        )


def _stands_among_streams(context: Context, test: ast.expr) -> bool:
    """Whether this is the refusal of a class that keeps streams, graphs or events of CUDA."""
    owner = context.index.enclosing(test, ast.ClassDef)
    return owner is not None and any(
        context.index.within(call, owner) and not is_optional(context, call)
        for call in context.calls_of(*_OWN)
    )


def _end(context: Context, test: ast.expr) -> tuple[Label, ...]:
    """What ends the run, where the test only made a device that another test then refuses."""
    for branch in context.index.of(ast.If):
        if branch.lineno <= test.lineno or not isinstance(branch.body[-1], ast.Raise):
            continue
        asked = names_in(branch.test)
        statement = context.index.statement(test)
        if isinstance(statement, ast.Assign) and any(
            binding.node is statement
            for use in ast.walk(branch.test)
            if isinstance(use, ast.Name) and use.id in asked
            for binding in context.flow.reaching(use)
        ):
            return (context.label(branch.body[-1], "ends the run here"),)
    return ()
