"""`autocast` or `GradScaler` is pinned to CUDA.

## What it does
Flags `torch.autocast("cuda", ...)`, `device_type="cuda"` and `torch.amp.GradScaler("cuda")`, also
without the device, which is CUDA then.

## Why is this bad?
Off CUDA they warn and switch themselves off: a Mac trains in float32 without anybody noticing.

## Example
```python
with torch.autocast("cuda", dtype=torch.bfloat16):
    loss = model(x)
```
Use instead:
```python
with torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type != "cpu"):
    loss = model(x)
```

## What is not flagged
Code behind a test for CUDA or about CUDA, what is enabled only where CUDA is, and the CUDA arm of a
choice; questions such as `torch.is_autocast_enabled("cuda")`. Functions that move to CUDA without
asking: their `.cuda()` comes first. `dtype=torch.float32`, which casts nothing. `enabled=False`,
unless it stands in an autocast that is on on MPS, in a method of a network around which a program
of the project has one on, or in a function that asks whether there is one. What a
module keeps for others (`autocast = partial(_autocast, "cuda")`), all of whom switch it on for CUDA
alone (`autocast(enabled=use_amp)`). Scalers in files of tests in which no loss is scaled. What is
given a device of the file (`DEVICE = torch.device("cuda")`) to which it moves things as well.

## Fix safety
Safe: on CUDA the same call; on the CPU it stays switched off. `torch.autocast("mps")` raises up to
torch 2.4, so `min-torch` must be 2.5 or newer for the fix. What would stay off on MPS all the same
(a scaler before torch 2.8) gets no device selection of its own.
A `forward` that knows no device and is given a `Tensor` asks that for its device (`x.device.type`),
and a block that is switched off what it casts to float32 of what its function is given.

## References
- `torch/amp/autocast_mode.py`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import cast

from mpslint.facts.torch_releases import FIRST_AUTOCAST_ON_MPS
from mpslint.model import Applicability, Finding, Severity
from mpslint.patterns.autocast import is_off, portable_argument, portable_call, too_old
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.packages.cast_around import uncast_by_others
from mpslint.semantics.packages.off_by_choice import is_off_for_users
from mpslint.semantics.purpose.test_files import only_holds_scaler
from mpslint.semantics.uses.decorated import decorates_cudas_own
from mpslint.semantics.worlds.choices import written
from mpslint.semantics.worlds.events import Event
from mpslint.semantics.worlds.machines import MAC
from mpslint.semantics.worlds.twins import CASTING
from mpslint.semantics.worlds.values import cases_of, places

_SWITCHED_OFF = ("autocast", "GradScaler", "custom_fwd", "custom_bwd")


@rule(
    "MPS208",
    "hardcoded-autocast-device",
    severity=Severity.IGNORES,
    triggers=(b"cuda", b"GradScaler"),
    fix=Applicability.SAFE,
    unfixed="the arguments, or a device for them, were not understood",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for event in (*context.effects_alone, *_uncast_by_others(context)):
        if event.kind not in CASTING:
            continue
        if not isinstance(event.node, ast.Call):
            continue
        if event.name.startswith("torch.cuda."):
            continue  # The finding of cuda-amp.
        call, name = event.node, event.name.rsplit(".", 1)[-1]
        if name not in _SWITCHED_OFF:
            continue
        if name == "GradScaler" and only_holds_scaler(context):
            continue
        if decorates_cudas_own(context, call):
            continue
        here = event.worlds & MAC or event.worlds
        literals = [
            node
            for _, atom in cases_of(event.value, here)
            if atom.v == "cuda" and not atom.maybe
            for node in places(atom)
        ]
        for literal in dict.fromkeys(literals):
            if is_off_for_users(context, literal):
                continue
            if not context.index.within(literal, call) and literal in _placing(context):
                continue  # The device that all goes to, which is told itself: this follows it.
            yield _finding(context, rule, event, call, name, literal)


def _uncast_by_others(context: Context) -> list[Event]:
    return [event for event in uncast_by_others(context) if is_off(event.call)]


def _placing(context: Context) -> frozenset[ast.expr]:
    """Where devices are written that hardcoded-cuda-device tells of."""
    known = context.memo.get("devices that are written out")
    if known is None:
        known = frozenset(found.node for found in written(context.worlds))
        known = known if context.tells("MPS101") else frozenset()
        context.memo["devices that are written out"] = known
    return cast("frozenset[ast.expr]", known)


def _finding(
    context: Context, rule: Rule, event: Event, call: ast.Call, name: str, literal: ast.expr
) -> Finding:
    if literal is call.func:
        fixable = context.settings.oldest_torch >= FIRST_AUTOCAST_ON_MPS
        return context.finding(
            rule,
            call.func,
            "GradScaler means CUDA where no device is given: it switches itself off on MPS"
            + too_old(context),
            labels=context.refused(event),
            applicability=Applicability.SAFE if fixable else None,
            fix=partial(portable_call, context, call) if fixable else None,
        )
    parent = context.index.parents[literal]
    direct = parent is call or (isinstance(parent, ast.keyword) and parent in call.keywords)
    fixable = direct and context.settings.oldest_torch >= FIRST_AUTOCAST_ON_MPS
    start, end = context.source.span(literal)
    if context.index.within(literal, call) and call.func.lineno != literal.lineno:
        # The call is what one looks for; the literal may stand lines below.
        start = context.source.span(call.func)[0]
    return context.finding_at(
        rule,
        start,
        end,
        _message(name, call) + too_old(context),
        labels=(
            *(() if context.index.within(literal, call) else (context.label(call, "used here"),)),
            *context.refused(event),
        ),
        applicability=Applicability.SAFE if fixable else None,
        fix=partial(portable_argument, context, call, literal) if fixable else None,
    )


def _message(name: str, call: ast.Call) -> str:
    if is_off(call):
        return f"{name} is switched off for CUDA only: one around it stays on on MPS"
    return f"{name} for CUDA only: it switches itself off on MPS"
