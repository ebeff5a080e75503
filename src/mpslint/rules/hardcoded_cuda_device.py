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
all callers in a script give; variables that are only printed, and attributes that nothing in the
file reads where `accelerate` places the model;
`torch.autocast` (hardcoded-autocast-device) and `map_location` (load-map-location); the CUDA arm of
a selection (device-chain-missing-mps). A bare move behind a test for CUDA
(`if torch.cuda.is_available(): x = x.to("cuda")`) is flagged as one that leaves MPS out; so is
what only a needless `assert torch.cuda.is_available()` (cuda-required) keeps a Mac from reaching.

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

from mpslint.model import Applicability, Finding, Fix, Severity
from mpslint.patterns.calls import is_cuda_move
from mpslint.patterns.gates import gates_level, open_gates
from mpslint.patterns.literal import replace_literal
from mpslint.patterns.promises import literal_level
from mpslint.rules.registry import Rule, rule
from mpslint.screening import names_torch
from mpslint.semantics.consumers import WITHOUT_MPS, reads
from mpslint.semantics.context import Context
from mpslint.semantics.device_defaults import is_fallback, unused_default
from mpslint.semantics.device_literals import (
    beside_the_cpu,
    declared_for_cuda,
    has_mps_elsewhere,
    in_a_table,
    is_foreign,
    over_several_gpus,
    used_with_cuda_only,
)
from mpslint.semantics.devices import Literal, Slot
from mpslint.semantics.index import COMPREHENSIONS, FUNCTIONS
from mpslint.semantics.purpose import speaks_of_mps
from mpslint.semantics.refusals import refusal_before
from mpslint.semantics.runtime_calls import about_cuda, only_for_cuda


@rule(
    "MPS101",
    "hardcoded-cuda-device",
    severity=Severity.BREAKS,
    triggers=(b"cuda",),
    unnamed=True,
    fix=Applicability.SAFE,
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    unnamed = not names_torch(context.source.data)
    if unnamed and any(context.names.imports(package) for package in WITHOUT_MPS):
        return
    for literal in context.devices.literals:
        if literal.backend != "cuda":
            continue
        slot = context.devices.slot(literal.node)
        if unnamed and not _is_configured(context, slot):
            continue
        if slot is None or _of_another_rule(context, slot):
            continue
        if any(context.index.within(literal.node, arm) for arm in context.chains.arms()):
            continue
        if context.guards.has(literal.node, "cuda", "asked-cuda", "no-mps", "caught", "xpu"):
            gate = _gate(context, literal.node, slot)
            if gate is not None:
                yield _gated(context, rule, literal.node, gate)
                continue
            test = refusal_before(context, literal.node)
            if test is not None and not _is_one_choice(context, literal.node):
                if not _is_meant(context, literal, slot):
                    yield _refused(context, rule, literal, slot, test)
            continue
        if _is_one_choice(context, literal.node) or _is_meant(context, literal, slot):
            continue
        if _is_settled(context, literal.node, slot):
            continue
        yield context.finding(
            rule,
            literal.node,
            _message(context, slot, context.source.segment(literal.node)),
            applicability=None if unnamed else literal_level(context, literal, slot),
            fix=None if unnamed else partial(replace_literal, context, literal, slot),
        )


def _is_configured(context: Context, slot: Slot | None) -> bool:
    """A setting that the rest of a project reads: a constant of a module or of a class, a field, an
    option, a default."""
    if slot is None or slot.kind in ("option", "field", "parameter"):
        return slot is not None
    holder = context.index.enclosing(slot.node, *FUNCTIONS) if slot.kind == "assignment" else None
    return slot.kind == "assignment" and holder is None


def _of_another_rule(context: Context, slot: Slot) -> bool:
    """`map_location="cuda"`, `map_location=torch.device("cuda")` and `torch.autocast("cuda")`."""
    return _outer(context, slot).kind in ("map-location", "autocast")


def _gate(context: Context, node: ast.expr, slot: Slot) -> ast.If | None:
    """The `if cuda:` around `x = x.to("cuda")`."""
    move = slot.node
    if slot.kind == "device" and isinstance(move, ast.Call):
        outer = context.devices.slot(move)
        move = outer.node if outer is not None and outer.kind == "to" else move
    if not is_cuda_move(move) or not _is_bare(context, move):
        return None
    return context.chains.gate(node)


def _is_bare(context: Context, move: ast.AST) -> bool:
    """Whether a statement only moves, alone or several things side by side; what is computed with
    the result on the spot may well be meant for CUDA."""
    parent = context.index.parents[move]
    if isinstance(parent, ast.Tuple):
        parent = context.index.parents[parent]
    return isinstance(parent, ast.stmt)


def _gated(context: Context, rule: Rule, node: ast.expr, gate: ast.If) -> Finding:
    return context.finding(
        rule,
        node,
        "a Mac's GPU is never used: things are moved only where CUDA is",
        severity=Severity.IGNORES,
        labels=(context.label(gate.test, "decided here"),),
        applicability=gates_level(context),
        fix=partial(open_gates, context),
    )


def _refused(context: Context, rule: Rule, literal: Literal, slot: Slot, test: ast.expr) -> Finding:
    """The device behind a refusal of its own program to run without CUDA: what has to change next,
    once the refusal lets MPS in."""
    text = context.source.segment(literal.node)
    level = literal_level(context, literal, slot)
    return context.finding(
        rule,
        literal.node,
        f"{text} is written out: would raise on a Mac, if {context.line(test)} let it come here",
        severity=Severity.IGNORES,
        labels=(context.label(test, "ends a run without CUDA"),),
        applicability=Applicability.UNSAFE if level is not None else None,
        fix=partial(_replace_unsafely, context, literal, slot) if level is not None else None,
    )


def _replace_unsafely(context: Context, literal: Literal, slot: Slot) -> Fix | None:
    """Only together with the refusal's own fix, which is unsafe, does the device decide."""
    fix = replace_literal(context, literal, slot)
    return fix._replace(applicability=Applicability.UNSAFE) if fix is not None else None


def _is_one_choice(context: Context, node: ast.expr) -> bool:
    """An arm of `a if test else b`: somebody chose; but not where the other arm is what is asked
    for first, `device if device is not None else "cuda"`."""
    child: ast.expr = node
    parent = context.index.parents[node]
    if isinstance(parent, ast.Call) and context.resolve(parent.func) == "torch.device":
        child, parent = parent, context.index.parents[parent]
    if not isinstance(parent, ast.IfExp) or child is parent.test:
        return False
    other = parent.orelse if child is parent.body else parent.body
    return ast.dump(other) not in {ast.dump(item) for item in ast.walk(parent.test)}


def _is_meant(context: Context, literal: Literal, slot: Slot) -> bool:
    """Whether the device is none of torch's, is not used as it stands, or is for CUDA alone."""
    node = literal.node
    if slot.kind == "item" and isinstance(slot.node, ast.Call):
        if _is_getattr(slot.node):
            return True  # of an object that has the attribute
    if about_cuda(context, node) or is_foreign(context, literal, slot) or in_a_table(context, slot):
        return True
    outer = _outer(context, slot)
    if beside_the_cpu(context, slot) or over_several_gpus(context, literal):
        return True
    if unused_default(context, outer) or declared_for_cuda(context, node):
        return True
    return has_mps_elsewhere(context, slot)


def _is_settled(context: Context, node: ast.AST, slot: Slot) -> bool:
    """Whether the code around makes sure in other ways that the device is only used with CUDA."""
    if not speaks_of_mps(context) and context.guards.has(node, "no-cpu"):
        return True
    if _outer(context, slot).kind == "parameter" and _is_called_elsewhere(context, node):
        return True
    return _is_for_cuda(context, node) or used_with_cuda_only(context, slot)


def _is_called_elsewhere(context: Context, default: ast.AST) -> bool:
    """Whether the function with this default only runs where no Mac is."""
    for parent in context.index.ancestors(default):
        if isinstance(parent, FUNCTIONS):
            return context.guards.has(parent.body[0], "cuda", "no-mps")
    return False


def _is_for_cuda(context: Context, node: ast.AST) -> bool:
    """As other calls are; but a loop over so many GPUs is none of the reasons, since it leaves a
    Mac without anything."""
    if context.index.enclosing(node, ast.For, *COMPREHENSIONS) is not None:
        return False
    return only_for_cuda(context, node)


def _outer(context: Context, slot: Slot) -> Slot:
    """The slot that `torch.device("cuda")` stands in."""
    if slot.kind == "device" and isinstance(slot.node, ast.Call):
        return context.devices.slot(slot.node) or slot
    return slot


def _is_getattr(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == "getattr"


def _message(context: Context, slot: Slot, text: str) -> str:
    if _outer(context, slot).kind == "parameter":
        slot = _outer(context, slot)
    if slot.kind == "item" and isinstance(slot.node, ast.Call):
        return f"falls back to {text}: raises AssertionError where there is no CUDA"
    if text.isdigit():
        return f"{text} names a GPU by its index: raises where there is no GPU"
    if slot.kind in ("parameter", "option", "field"):
        return f"the default device is {text}, which no Mac has"
    if slot.kind == "assignment" and isinstance(slot.node, ast.stmt):
        if is_fallback(context, slot.node):
            return f"the default device is {text}, which no Mac has"
    if _only_loaded_to(context, _outer(context, slot)):
        return f"the device is {text} here: loading to it raises RuntimeError without CUDA"
    if slot.kind in ("assignment", "item", "return"):
        return f"the device is {text} here: its use raises AssertionError where there is no CUDA"
    return f"{text} is written out: raises AssertionError where there is no CUDA"


def _only_loaded_to(context: Context, slot: Slot) -> bool:
    """Whether the device goes to a name that is used as `map_location` and nothing else."""
    statement = slot.node
    if slot.kind != "assignment" or not isinstance(statement, ast.Assign):
        return False
    uses = list(reads(context, statement.targets[0]))
    places = [context.devices.slot(use) for use in uses if isinstance(use, ast.expr)]
    return (
        bool(uses)
        and len(places) == len(uses)
        and all(place is not None and place.kind == "map-location" for place in places)
    )
