"""`torch.cuda.amp` switches itself off where there is no CUDA.

## What it does
Flags `torch.cuda.amp.autocast`, `GradScaler`, `custom_fwd` and `custom_bwd`, however imported.

## Why is this bad?
They are deprecated since torch 2.4, and off CUDA they warn and do nothing: on a Mac the model
trains in float32, at half the speed and twice the memory.

## Example
```python
with torch.cuda.amp.autocast():
    loss = model(x)
```
Use instead:
```python
with torch.autocast(device_type=device.type, enabled=device.type != "cpu"):
    loss = model(x)
```

## What is not flagged
An import by itself, unless the file uses `torch.amp` already: its uses are (`--select MPS207` tells
of both). Code behind a test for CUDA or about CUDA, what is enabled only where CUDA is, and the arm
for an old torch beside one that uses `torch.amp`. Functions that move to CUDA without asking: their
`.cuda()` comes first. `autocast(enabled=False)`, unless it stands in an autocast that is on on MPS,
in a method of a network around which a program of the project has one on, or in a function that
asks whether there is one. Scalers in files of tests in which no loss is scaled.
What a function of the project enables that says no for a device which is not CUDA's
(`check_amp(model)`, with `if device.type in ("cpu", "mps"): return False`).
Projects whose requirements let in no torch from 2.5 on, whose autocast raises on MPS.
What stands under `self.use_amp` in a class that derives from transformers' `Trainer`: the versions
that have it refuse `--fp16` and `--bf16` off CUDA.

## Fix safety
Safe: on CUDA the new call is what the old one became; on the CPU it stays switched off, so that
numbers there do not change. A `GradScaler` runs on MPS from torch 2.8 (`min-torch`).

## References
- `torch/cuda/amp/autocast_mode.py`, `torch/amp/grad_scaler.py`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.facts.torch_releases import FIRST_AUTOCAST_ON_MPS
from mpslint.model import Applicability, Confidence, Finding, Severity
from mpslint.patterns.autocast import OLD, drop_unused_import, is_off, portable_call, too_old
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.packages.cast_around import uncast_by_others
from mpslint.semantics.packages.off_by_choice import is_off_by_choice
from mpslint.semantics.packages.transformers_trainers import is_trainers_amp
from mpslint.semantics.purpose.test_files import only_holds_scaler
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.uses.decorated import decorates_cudas_own
from mpslint.semantics.worlds.machines import MACS

_NAMES = ("autocast", "GradScaler", "custom_fwd", "custom_bwd")
_PORTABLE = ("torch.autocast", "torch.amp.autocast", "torch.amp.GradScaler")
_QUALIFIED = tuple(f"torch.cuda.amp.{name}" for name in _NAMES)


@rule(
    "MPS207",
    "cuda-amp",
    severity=Severity.IGNORES,
    triggers=(b"amp",),
    also=((b"cuda",),),
    fix=Applicability.SAFE,
    least=Confidence.CERTAIN,
    unfixed="the arguments, or what else uses the result, were not understood",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    if context.settings.is_bound_before(FIRST_AUTOCAST_ON_MPS):
        return
    uses = _uses(context)
    wrong: set[ast.AST] = {node for node, _, _ in uses}
    yield from _imports(context, rule, wrong)
    old = too_old(context)
    for node, call, name in uses:
        fixable = call is not None and not old
        yield context.finding(
            rule,
            node,
            _message(name, call) + old,
            applicability=Applicability.SAFE if fixable else None,
            fix=partial(portable_call, context, call) if call and fixable else None,
            unfixed=_unfixed(call, old),
        )


def _unfixed(call: ast.Call | None, old: str) -> str:
    if old:
        return old.removeprefix(OLD)
    return "" if call is not None else "it is kept under a name, and what calls that is not seen"


def _imports(context: Context, rule: Rule, wrong: set[ast.AST]) -> Iterator[Finding]:
    for statement in context.index.of(ast.ImportFrom):
        if not statement.module or not _is_of_amp(context, statement):
            continue
        if not context.worlds.breaks(statement) or not _names_wrong(context, statement, wrong):
            continue
        yield context.finding(
            rule,
            statement,
            "torch.cuda.amp is deprecated and for CUDA only: torch.amp is for every device",
            confidence=Confidence.CERTAIN if _is_left_over(context) else Confidence.INFERRED,
            applicability=Applicability.SAFE,
            fix=partial(drop_unused_import, context, statement),
        )


def _is_of_amp(context: Context, statement: ast.ImportFrom) -> bool:
    """`from torch.cuda.amp import ...`; the module itself, `from torch.cuda import amp`, where a
    port has left it over."""
    if (statement.module or "").startswith("torch.cuda.amp"):
        return True
    return (
        statement.module == "torch.cuda"
        and any(alias.name == "amp" for alias in statement.names)
        and _is_left_over(context)
        and not any(
            context.index.names.get(alias.asname or "amp", ())
            for alias in statement.names
            if alias.name == "amp"
        )
    )


def _is_left_over(context: Context) -> bool:
    """Whether the file uses `torch.amp` already, so that an import is what a port forgot. Where it
    does not, what is wrong with an import is told where its names are used."""
    return any(context.calls_of(*_PORTABLE))


def _names_wrong(context: Context, statement: ast.ImportFrom, wrong: set[ast.AST]) -> bool:
    """Whether something that is imported is used in a way that is wrong, or not at all."""
    for alias in statement.names:
        uses = context.index.names.get(alias.asname or alias.name, ())
        if not uses or not wrong.isdisjoint(uses):
            return True
    return False


def _uses(context: Context) -> list[tuple[ast.expr, ast.Call | None, str]]:
    """What to report, with its call and what it is called there."""
    found: dict[ast.expr, tuple[ast.Call | None, str]] = {}
    by_others = (event for event in uncast_by_others(context) if is_off(event.call))
    for event in (*context.effects_alone, *by_others):
        if event.name not in _QUALIFIED or not _is_used(context, event.node):
            continue
        if is_trainers_amp(context, event.node):
            continue
        last = event.name.rsplit(".", 1)[-1]
        if last == "GradScaler" and only_holds_scaler(context):
            continue
        if isinstance(event.node, ast.Call):
            if is_off_by_choice(context, event.node):
                continue
            found[event.node.func] = event.node, last
        elif isinstance(event.node, ast.expr):
            found[event.node] = None, last
    for name in ("custom_fwd", "custom_bwd"):
        local = context.aliases.get(f"torch.cuda.amp.{name}", ())
        names = [use for alias in local for use in context.index.names.get(alias, ())]
        for node in (*context.index.attributes.get(name, ()), *names):
            if context.resolve(node) != f"torch.cuda.amp.{name}":
                continue
            if context.worlds.breaks(node) and _is_used(context, node):
                found.setdefault(node, (None, name))
    told = [(node, call, name) for node, (call, name) in found.items()]
    return sorted(told, key=lambda item: (item[0].lineno, item[0].col_offset))


def _is_used(context: Context, node: ast.AST) -> bool:
    """Whether a Mac comes to what a decorator does: the function below it."""
    parents = context.index.parents
    parent = parents.get(node)
    if isinstance(parent, ast.Call) and parent.func is node:
        node, parent = parent, parents.get(parent)
    if not isinstance(parent, FUNCTIONS) or node not in parent.decorator_list:
        return True
    if decorates_cudas_own(context, node):
        return False
    return bool(context.worlds.reach(parent.body[0]) & MACS)


def _message(name: str, call: ast.Call | None) -> str:
    if call is not None and is_off(call):
        return f"torch.cuda.amp.{name} is switched off for CUDA only: one around it stays on on MPS"
    return f"torch.cuda.amp.{name} is deprecated and for CUDA only: it does nothing on MPS"
