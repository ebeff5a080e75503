"""A device is written out as `"cuda"`.

## What it does
Flags `"cuda"`, `"cuda:0"`, `f"cuda:{rank}"` and their like where a device is expected: `device=`
in factories and calls, `.to(...)`, `torch.device(...)`, `torch.Generator(...)`, variables and
attributes that hold a device, default values of parameters, options and fields; settings of that
kind also in a file of the project that never names torch. So is a number of GPUs that a trainer of
Lightning's is given (`Trainer(gpus=1)`).

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
what a test gives and then finds kept as a text (`assert config["device"] == "cuda"`), or puts into
a `SimpleNamespace` beside its mocks; what a function of another file only compares;
dictionary keys, texts, lists of choices, rows of tables; one arm of a choice that asks for
something else; the same call made for the CPU beside it; what several GPUs share (an index by rank,
a tensor that is reduced over processes, `if len(gpus) > 1:` around a `DataParallel` over these);
devices of other libraries, of tokenizers and image
processors; defaults of a program that turns every other device away itself, before it places
anything (`if device.type != "cuda" or not torch.cuda.is_available(): raise ...`), or that the code
replaces, checks against the machine or only looks at, or that
all callers in the project give, a module that certainly holds nothing to move
(`nn.MSELoss().to("cuda")`), or of options that the program never reads; variables that are only
printed, and attributes that nothing in the file reads where `accelerate` places the model;
`torch.autocast` (hardcoded-autocast-device) and `map_location` (load-map-location); the CUDA arm of
a selection (device-chain-missing-mps). A device that another file of the project makes, under a
name that says nothing of devices (`CUDA_0`), is flagged where it is first used. A device in a
configuration (`{"model": {"device": "cuda"}}`, `_C.MODEL.DEVICE = "cuda"`) is flagged where it is
written, but not where nobody in the project reads its key, or only to compare or print it. What a
class, a function or the program puts on several GPUs by hand (`cuda:0` and `cuda:1`) is flagged
once, with its other places: it needs more GPUs than a Mac has. A bare move behind a test for CUDA
(`if torch.cuda.is_available(): x = x.to("cuda")`) is flagged as one that leaves MPS out; so is what
only a needless `assert torch.cuda.is_available()` (cuda-required) keeps a Mac from reaching.

## Fix safety
Safe: a variable, default or field becomes a selection in place, with the CUDA arm as it was; any
other use becomes the device at hand, or one that is selected after the imports; in a function, that
of a tensor which what is made there meets (`x.device`), also for a default that is for nothing else
(`device=None`). What several functions of a file write out
alike for themselves becomes the call of one function. What stands for a GPU by its number
(`x.to(gpu_id)`, `torch.device(gpu_id)`) stays that on CUDA: one device is selected for all that go
there (`torch.device("cuda", gpu_id)`, kept as `self.device` beside `self.gpu_id`). Unsafe behind an
assertion of CUDA, which lets MPS in by the same fix. Code that spreads over several CUDA indices is
reported, not rewritten; so are the settings of a file that never names torch, unless a module of
the project that it imports has torch by that name.

## References
- `torch/cuda/__init__.py` (`_lazy_init`)
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import partial

from mpslint.model import Applicability, Confidence, Finding, Fix, Label, Level, Severity
from mpslint.patterns.behind_refusal import device_behind, is_replaceable, literal_slot
from mpslint.patterns.gates import gates_level, open_gates
from mpslint.patterns.literal import replace_literal
from mpslint.patterns.numbered import place_numbered
from mpslint.patterns.place import comes_along
from mpslint.patterns.promises import literal_level
from mpslint.patterns.unfixed import BY_HAND, of_literal
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.destinations.device_labels import is_label
from mpslint.semantics.destinations.kept_texts import is_kept_text
from mpslint.semantics.destinations.written_twice import other_of_two
from mpslint.semantics.devices.devices import Slot
from mpslint.semantics.gpus.listed_gpus import is_for_listed_gpus
from mpslint.semantics.gpus.spread_by_hand import spread_by_hand
from mpslint.semantics.gpus.trainer_gpus import trainers_of_gpus
from mpslint.semantics.purpose.given_to_mocks import is_for_mocks
from mpslint.semantics.purpose.skipping_tests import is_for_skipped_tests
from mpslint.semantics.uses.leftovers import is_never_default
from mpslint.semantics.uses.unread_options import is_followed_option
from mpslint.semantics.worlds.choices import Behind, Written, behind_cuda, written
from mpslint.semantics.worlds.events import Kind
from mpslint.sources.screening import names_torch

_UNNAMED = "the file never names torch, and who reads this is not seen"

_SAME = "the same choice is given at {} as well, and what becomes of it there is not seen"


@rule(
    "MPS101",
    "hardcoded-cuda-device",
    severity=Severity.BREAKS,
    triggers=(b"cuda", b"CUDA", b"gpus"),
    unnamed=True,
    fix=Applicability.SAFE,
    unfixed="what takes this device was not understood",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    unnamed = not names_torch(context.source.data)
    literals = {literal.node: literal for literal in context.devices.literals}
    asked = {chain.cuda_arm for chain in context.chains.without_mps}
    placed: dict[str, list[Written]] = {}
    spread = spread_by_hand(context)
    told: set[ast.expr] = set()
    every = list(written(context.worlds, partial(is_followed_option, context)))
    nodes = {found.node for found in every}
    for found in every:
        if isinstance(found.node, ast.Name | ast.Attribute):
            placed.setdefault(ast.unparse(found.node), []).append(found)
            continue
        if found.node in asked or any(
            item in asked for item in context.index.ancestors(found.node)
        ):
            continue  # The choice is what is wrong: device-chain-missing-mps.
        if is_for_listed_gpus(context, found.node):
            continue
        if spread is not None and found.node in spread.nodes:
            if spread.is_first(found.node):
                labels = spread.labels(context, found.node)
                yield context.finding(
                    rule, found.node, spread.message, labels=labels, unfixed=BY_HAND
                )
            continue
        literal = literals.get(found.node)
        slot = context.devices.slot(found.node) if literal is not None else None
        if is_label(context, found.node):
            continue
        if is_for_skipped_tests(context, found.node) or is_kept_text(context, found.node):
            continue
        if found.use is None and is_for_mocks(context, found.node):
            continue
        # Settings that are kept apart from all that computes stay so.
        apart = slot is not None and slot.kind in ("field", "item")
        unread = unnamed and (apart or not comes_along(context))
        other = other_of_two(context, found.node, nodes)
        fixable = literal is not None and slot is not None and not unread and other is None
        finding = context.finding(
            rule,
            found.node,
            _message(context, found, slot),
            confidence=Confidence.INFERRED if found.use is None else Confidence.CERTAIN,
            labels=_labels(context, found),
            applicability=partial(literal_level, context, literal, slot)  # type: ignore[arg-type]
            if fixable
            else None,
            fix=partial(replace_literal, context, literal, slot) if fixable else None,  # type: ignore[arg-type]
            unfixed=_UNNAMED
            if unread
            else _SAME.format(context.line(other.value))
            if other is not None
            else partial(of_literal, context, literal, slot),
        )
        finding.quiet = is_never_default(context, found.node) or (
            found.use in context.worlds.run.empty_moves
            and context.index.within(found.node, found.use)
        )
        yield finding
        told.add(found.node)
    for name, uses in placed.items():
        yield context.finding(
            rule,
            uses[0].node,
            f"{name} is a CUDA device: raises AssertionError where there is no CUDA",
            labels=tuple(context.label(use.node, "used here as well") for use in uses[1:]),
            applicability=partial(_level, context, [use.node for use in uses]),
            fix=partial(place_numbered, context, [use.node for use in uses]),
            unfixed=f"where {name} gets its number, or that it is one for certain, is not seen",
        )
    for given in trainers_of_gpus(context):
        yield context.finding(
            rule,
            given,
            "`gpus` asks Lightning for GPUs of CUDA, and raises where there are none:"
            ' `accelerator="auto"` takes what there is',
            unfixed="how many devices a Mac should be asked for is for its author to say",
        )
    for behind in behind_cuda(context.worlds):
        if behind.node not in told:  # That raises elsewhere, where a Mac comes.
            yield _gated(context, rule, behind)
    if not unnamed:
        yield from _other_defaults(context, rule, told)


def _other_defaults(context: Context, rule: Rule, told: set[ast.expr]) -> Iterator[Finding]:
    """The defaults that nobody is seen to need: beside others one that stays looks forgotten."""
    for literal in context.devices.literals:
        slot = context.devices.slot(literal.node)
        if literal.node in told or slot is None or slot.kind != "parameter":
            continue
        if literal.backend != "cuda" or not _is_taken_on(context, slot.node):
            continue
        finding = context.finding(
            rule,
            literal.node,
            f"the default device is {context.source.segment(literal.node)}, which no Mac has",
            applicability=partial(literal_level, context, literal, slot),
            fix=partial(replace_literal, context, literal, slot),
        )
        finding.quiet = True
        yield finding


def _is_taken_on(context: Context, parameter: ast.AST) -> bool:
    """Whether a function puts something on the device that it is given, keeps it, or hands it on:
    not one that only says its name."""
    if not isinstance(parameter, ast.arg):
        return False
    function = context.index.parents[context.index.parents[parameter]]
    scope = context.names.own_scope(function)
    return any(
        context.names.owner(parameter.arg, use) is scope
        and (
            context.devices.slot(use) is not None
            or isinstance(context.index.parents[use], ast.Assign)
        )
        for use in context.index.names.get(parameter.arg, ())
    )


def _level(context: Context, values: list[ast.expr]) -> Applicability | None:
    fix = place_numbered(context, values)
    return fix.applicability if fix is not None else None


def _gated(context: Context, rule: Rule, behind: Behind) -> Finding:
    node, event, refusal = behind
    level: Level = None
    fix: Callable[[], Fix | None] | None = None
    slot = literal_slot(context, node)
    if refusal is not None:
        if is_replaceable(context, node):
            level, fix = Applicability.UNSAFE, partial(device_behind, context, behind)
    elif slot is not None and context.chains.gate(node) is not None:
        level, fix = partial(gates_level, context), partial(open_gates, context)
    return context.finding(
        rule,
        node,
        f"a Mac's GPU is never used: {context.ending(refusal)} ends a run without CUDA before this"
        if refusal is not None
        else "a Mac's GPU is never used: things are moved only where CUDA is",
        severity=Severity.IGNORES,
        labels=context.refused(event) or context.decided(event),
        applicability=level,
        fix=fix,
        unfixed="what else hangs on CUDA here was not understood",
    )


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
