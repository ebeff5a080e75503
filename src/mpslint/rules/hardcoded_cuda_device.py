"""A device is written out as `"cuda"`.

## What it does
Flags `"cuda"`, `"cuda:0"`, `f"cuda:{rank}"` and their like where a device is expected: `device=`
in factories and calls, `.to(...)`, `torch.device(...)`, `torch.Generator(...)`, variables and
attributes that hold a device, default values of parameters, options and fields; settings of that
kind also in a file of the project that never names torch.

## Why is this bad?
On a machine without CUDA the first tensor that is made there or moved there raises
`AssertionError: Torch not compiled with CUDA enabled`.

## Example
```python
x = torch.zeros(3, device="cuda")
```
Use instead, with a device that is selected once:
```python
x = torch.zeros(3, device=device)
```

## What is not flagged
Code that only runs where CUDA is (behind a test, an early exit, a decorator, in a `try`), or that
is about CUDA by the name of its function, class or file or by the kernels it imports; comparisons,
dictionary keys, texts, lists of choices, rows of tables; one arm of a choice that asks for
something else; the same call made for the CPU beside it; what several GPUs share (an index by rank,
a tensor that is reduced over processes); devices of other libraries, of tokenizers and image
processors; defaults that the code replaces, checks against the machine or only looks at, or that
all callers in the project give; variables that are only printed, and attributes that nothing in the
file reads where `accelerate` places the model;
`torch.autocast` (hardcoded-autocast-device) and `map_location` (load-map-location); the CUDA arm of
a selection (device-chain-missing-mps). A device that another file of the project makes, under a
name that says nothing of devices (`CUDA_0`), is flagged where it is first used. A bare move behind
a test for CUDA (`if torch.cuda.is_available(): x = x.to("cuda")`) is flagged as one that leaves MPS
out; so is what only a needless `assert torch.cuda.is_available()` (cuda-required) keeps a Mac from
reaching.

## Fix safety
Safe: a variable, default or field becomes a selection in place, with the CUDA arm as it was; any
other use becomes the device at hand, or one that is selected after the imports. Unsafe behind an
assertion of CUDA, which has to let MPS in as well. Code that spreads
over several CUDA indices is reported, not rewritten; so are the settings of a file that never names
torch.

## References
- `torch/cuda/__init__.py` (`_lazy_init`)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Confidence, Finding, Fix, Label, Severity
from mpslint.patterns.gates import gates_level, open_gates
from mpslint.patterns.literal import replace_literal
from mpslint.patterns.promises import literal_level
from mpslint.rules.registry import Rule, rule
from mpslint.screening import names_torch
from mpslint.semantics.context import Context
from mpslint.semantics.devices import Literal, Slot
from mpslint.semantics.leftovers import is_never_default
from mpslint.semantics.worlds.choices import Written, devices_of, written
from mpslint.semantics.worlds.events import Event, Kind
from mpslint.semantics.worlds.refused import refusal_before


@rule(
    "MPS101",
    "hardcoded-cuda-device",
    severity=Severity.BREAKS,
    triggers=(b"cuda", b"CUDA"),
    unnamed=True,
    fix=Applicability.SAFE,
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    unnamed = not names_torch(context.source.data)
    literals = {literal.node: literal for literal in context.devices.literals}
    asked = {chain.cuda_arm for chain in context.chains.without_mps}
    placed: dict[str, list[Written]] = {}
    for found in written(context.worlds):
        if isinstance(found.node, ast.Name | ast.Attribute):
            placed.setdefault(ast.unparse(found.node), []).append(found)
            continue
        if found.node in asked or any(
            item in asked for item in context.index.ancestors(found.node)
        ):
            continue  # The choice is what is wrong: device-chain-missing-mps.
        literal = literals.get(found.node)
        slot = context.devices.slot(found.node) if literal is not None else None
        if slot is not None and slot.kind == "parameter" and is_never_default(context, found.node):
            continue
        fixable = literal is not None and slot is not None and not unnamed
        yield context.finding(
            rule,
            found.node,
            _message(context, found, slot),
            confidence=Confidence.INFERRED if found.use is None else Confidence.CERTAIN,
            labels=_labels(context, found),
            applicability=partial(literal_level, context, literal, slot)  # type: ignore[arg-type]
            if fixable
            else None,
            fix=partial(replace_literal, context, literal, slot) if fixable else None,  # type: ignore[arg-type]
        )
    for name, uses in placed.items():
        yield context.finding(
            rule,
            uses[0].node,
            f"{name} is a CUDA device: raises AssertionError where there is no CUDA",
            labels=tuple(context.label(use.node, "used here as well") for use in uses[1:]),
        )
    for event in context.worlds.without_twin:
        if event.kind is not Kind.PLACED or event.on_mac:
            continue
        refusal = refusal_before(context.worlds, event)
        if refusal is None and not event.arm:
            continue  # Behind an early exit that exit is what is wrong.
        for node in devices_of(event):
            literal = literals.get(node)
            slot = context.devices.slot(node) if literal is not None else None
            yield _gated(context, rule, event, node, slot, refusal)


def _gated(
    context: Context,
    rule: Rule,
    event: Event,
    node: ast.expr,
    slot: Slot | None,
    refusal: ast.expr | None,
) -> Finding:
    gate = context.chains.gate(node) if slot is not None else None
    literal = next((item for item in context.devices.literals if item.node is node), None)
    if refusal is not None and literal is not None and slot is not None:
        if literal_level(context, literal, slot) is None:
            literal = None
    else:
        literal = None
    return context.finding(
        rule,
        node,
        f"a Mac's GPU is never used: {context.line(refusal)} ends a run without CUDA before this"
        if refusal is not None
        else "a Mac's GPU is never used: things are moved only where CUDA is",
        severity=Severity.IGNORES,
        labels=context.decided(event),
        applicability=Applicability.UNSAFE
        if literal is not None
        else partial(gates_level, context)
        if gate is not None
        else None,
        fix=partial(_replace_unsafely, context, literal, slot)
        if literal is not None and slot is not None
        else partial(open_gates, context)
        if gate is not None
        else None,
    )


def _replace_unsafely(context: Context, literal: Literal, slot: Slot) -> Fix | None:
    """Only together with the refusal's own fix, which is unsafe, does the device decide."""
    fix = replace_literal(context, literal, slot)
    return fix._replace(applicability=Applicability.UNSAFE) if fix is not None else None


def _labels(context: Context, found: Written) -> tuple[Label, ...]:
    use = found.use
    if use is None or not isinstance(use, ast.expr):
        return ()
    if use.lineno == found.node.lineno:
        return ()
    return (context.label(use, "placed here"),)


def _message(context: Context, found: Written, slot: Slot | None) -> str:
    text = context.source.segment(found.node)
    if slot is not None and slot.kind in ("parameter", "option", "field"):
        return f"the default device is {text}, which no Mac has"
    if found.event.kind is Kind.LOADED:
        return f"the device is {text} here: loading to it raises RuntimeError without CUDA"
    if text.isdigit():
        return f"{text} names a GPU by its index: raises where there is no GPU"
    if found.use is None:
        return f"the device is {text} here: its use raises AssertionError where there is no CUDA"
    if slot is not None and slot.kind in ("assignment", "item", "return"):
        return f"the device is {text} here: its use raises AssertionError where there is no CUDA"
    return f"{text} is written out: raises AssertionError where there is no CUDA"
