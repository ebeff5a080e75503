"""A device selection knows only CUDA and the CPU.

## What it does
Flags conditional expressions, `if` statements and helper functions that choose between a CUDA
device and the CPU by asking for CUDA, and never ask for MPS; flags for CUDA that are handed on, by
which others choose. Also tests for CUDA that only choose what is said ("on one GPU", "on the CPU"),
where the device is chosen elsewhere. And the device of an `autocast` that is chosen by itself.

## Why is this bad?
Nothing fails: on a Mac the program quietly runs on the CPU, often 10 to 30 times slower than on
the Apple GPU beside it. Where a switch chooses (`"cuda" if args.cuda else "cpu"`), the one choice
fails on a Mac and the other is slow. Where the switch says CUDA by default (`use_cuda=True`,
`--no-cuda`), a Mac raises unless somebody says otherwise, and the finding has severity breaks.

## Example
```python
device = "cuda" if torch.cuda.is_available() else "cpu"
```
Use instead:
```python
device = (
    "cuda"
    if torch.cuda.is_available()
    else "mps"
    if torch.backends.mps.is_available()
    else "cpu"
)
```

## What is not flagged
Choices of anything but a device (a dtype, a backend, a number of workers); chains that know MPS
or `torch.accelerator`, before, after or around, or speak of MPS in a comment, or deny it in the
text of the function ("does not work on MPS"); functions named after CUDA; code for another system;
comparisons with a device that was selected elsewhere, and what
overrides the device of a model; a choice that only autocast follows, where the file places nothing
on a device, and one for tensors that several processes exchange; devices that are only printed, or
that stand under a name of the module which nobody in the project reads, or for a parameter that
all calls give; devices that are handed to
a library without MPS (CTranslate2 and what is built on it, ONNX Runtime, TensorRT, vLLM, Paddle,
CuPy, JAX), which would raise where the CPU works; modules that compute on DGL's graphs, which have
no way to MPS; programs that always make float64 the default dtype, which MPS lacks, and devices
that are given to something together with `"float64"`; a place to load a checkpoint to that is only
copied into modules and optimizers from there, or that is looked through, edited entry by entry and
saved again; tests that do nothing without CUDA.

## Fix safety
Safe: the new arm stands behind the CUDA arm, so on a machine with CUDA nothing changes. What the
user was asked (`--no-cuda`, a flag of the file such as `use_gpu = True`) is asked for MPS too. What
several functions of a file choose by the same words becomes one function. What a function chooses
for tensors that meet one that it is given becomes that one's device (`labels.device`): whoever
calls knows where that is. Unsafe where the file moves other things only where CUDA is, in a way
that no safe fix opens: they would stay on the CPU; and where it reads a clock behind a wait for
CUDA only that gets no arm for MPS along with this.
A device that is named elsewhere and taken where there is CUDA (`config.device if
torch.cuda.is_available() else "cpu"`) gives way to MPS, but for who names the CPU.
A function that is told how many GPUs are wanted, and takes no more than
`torch.cuda.device_count()`, gives MPS where one is wanted and CUDA has none.
A flag that decides nothing but moves goes with the tests in front of these.
There is no fix where a program that runs on a Mac's CPU is known to end on MPS: an operator without
a kernel stands in the class or function that chooses, or something beside it is known to stay on
the CPU; the reason names the place.
`Trainer(accelerator="gpu" if torch.cuda.is_available() else "cpu")` of Lightning becomes
`accelerator="auto"`, unless it says a strategy, a precision or a number of devices that no Mac
has; unsafe where what else it is told is not seen.

## References
- PyTorch: "MPS backend" (docs/source/notes/mps.rst)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import partial

from mpslint.facts.torch_releases import FIRST_AUTOCAST_ON_MPS
from mpslint.model import Applicability, Confidence, Finding, Fix, Label, Severity
from mpslint.patterns.any_gpu import chosen_by_trainer
from mpslint.patterns.chain import add_mps_arm
from mpslint.patterns.counted_gpus import mps_beside_counted
from mpslint.patterns.default_device import add_default_device
from mpslint.patterns.gates import gates_level, open_gates, opens_all
from mpslint.patterns.named_device import level_beside_named, mps_beside_named, names_device
from mpslint.patterns.operand import by_operand, operand_of
from mpslint.patterns.told_choices import ToldSelection, ToldTest, told_choices
from mpslint.patterns.unfixed import of_choice, of_selection
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.devices.chains import Chain
from mpslint.semantics.operands.moved_to_itself import moves_nothing
from mpslint.semantics.packages.cuda_packages import computes_without_mps
from mpslint.semantics.uses.switch_defaults import is_default
from mpslint.semantics.worlds.choices import Choice, Written, offered
from mpslint.semantics.worlds.events import Kind

_OLD = "a torch before 2.5 is supported, whose autocast raises on MPS"


@rule(
    "MPS103",
    "device-chain-missing-mps",
    severity=Severity.IGNORES,
    triggers=(b"cuda",),
    fix=Applicability.SAFE,
    unfixed="what else this decides was not understood",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for told in told_choices(context):
        if isinstance(told, ToldSelection):
            yield _selection(context, rule, told)
        elif not moves_nothing(context, told.test):
            yield _decision(context, rule, told)
    if computes_without_mps(context):
        return
    for listed in offered(context.worlds):
        yield context.finding(
            rule,
            listed,
            "a Mac's GPU cannot be asked for: the choices have no mps",
            unfixed="what each of the choices does is for its author to say",
        )


def _selection(context: Context, rule: Rule, told: ToldSelection) -> Finding:
    chain, given, casts = told.chain, told.given, told.casts
    falls = chain.cpu_arm if chain.cpu_arm is not None else chain.node
    start, end = _extent(context, chain)
    row, _ = context.source.position(start)
    away = "" if falls.lineno == row else f" ({context.line(falls)})"
    message = f"a Mac's GPU is never used: {_outcome(chain)} the CPU{away}"
    if casts:
        message = f"autocast does nothing on MPS: it is for the CPU there{away}"
    fixable = not casts or context.settings.oldest_torch >= FIRST_AUTOCAST_ON_MPS
    label = context.label(falls, "a Mac ends up here")
    breaks = (
        given is not None
        and chain.asked_only
        and is_default(context, chain.test, not chain.inverted)
    )
    if given is not None and breaks:
        message = f"a switch chooses CUDA unless it is told otherwise: {_raises(given)}"
        label = context.label(chain.cuda_arm, "a Mac ends up here")
    return context.finding_at(
        rule,
        start,
        end,
        message,
        severity=Severity.BREAKS if breaks else None,
        labels=(label, *_asked_before(context, chain, told.tests)),
        applicability=Applicability.SAFE if fixable else None,
        fix=partial(add_mps_arm, context, chain) if fixable else None,
        unfixed=partial(of_selection, context, chain) if fixable else _OLD,
    )


def _asked_before(context: Context, chain: Chain, tests: Sequence[ast.expr]) -> tuple[Label, ...]:
    """Where a flag that decides a selection asks for CUDA."""
    return tuple(
        context.label(test, "CUDA is asked for here")
        for test in tests
        if not context.index.within(test, chain.node)
        and context.index.statement(test) is not context.index.statement(chain.node)
    )


def _outcome(chain: Chain) -> str:
    """What a Mac gets, but for the CPU: a switch that nobody compares with the machine may choose
    CUDA there, too."""
    if chain.asked_only:
        return "a switch chooses CUDA, which no Mac has, or"
    return "this selection falls to"


def _raises(given: Written) -> str:
    if given.event.kind is Kind.LOADED:
        return "loading to it raises RuntimeError without CUDA"
    return "its use raises AssertionError where there is no CUDA"


def _decision(context: Context, rule: Rule, told: ToldTest) -> Finding:
    test, choice, moves = told
    labels = tuple(
        context.label(device, "CUDA is chosen here")
        for device in choice.devices
        if device.lineno != test.lineno
    ) + tuple(context.label(move, "moved only here") for move in moves)
    start, end = context.source.span(test)
    if isinstance(context.index.statement(test), ast.If):
        end = max((end, *(context.source.span(move)[1] for move in moves)))
    finding = context.finding_at(
        rule,
        start,
        end,
        "a Mac's GPU is never used: CUDA or something else is decided here",
        confidence=Confidence.INFERRED if choice.is_flag else Confidence.CERTAIN,
        labels=labels,
        applicability=partial(_level, context, test, choice),
        fix=partial(_fix, context, test, choice),
        unfixed=partial(of_choice, context, test),
    )
    finding.follows = _asks_operand(context, test)
    return finding


def _fix(context: Context, test: ast.expr, choice: Choice) -> Fix | None:
    """What decides nothing but moves goes with the tests in front of these."""
    if _asks_operand(context, test):
        return by_operand(context, test)
    if (left := chosen_by_trainer(context, test)) is not None:
        return left
    if names_device(context, test):
        return mps_beside_named(context, test)
    if (counted := mps_beside_counted(context, test)) is not None:
        return counted
    if opens_all(context, choice.tests):
        return open_gates(context)
    return add_default_device(context, test)


def _level(context: Context, test: ast.expr, choice: Choice) -> Applicability | None:
    if _asks_operand(context, test):
        found = by_operand(context, test, laid_out=False)
        return found.applicability if found is not None else None
    if (left := chosen_by_trainer(context, test)) is not None:
        return left.applicability
    if names_device(context, test):
        return level_beside_named(context, test)
    if (counted := mps_beside_counted(context, test)) is not None:
        return counted.applicability
    if opens_all(context, choice.tests):
        return gates_level(context)
    found = add_default_device(context, test)
    return found.applicability if found is not None else None


def _asks_operand(context: Context, test: ast.expr) -> bool:
    """`x.is_cuda`, which brings nothing to MPS that `x` is not on; or the same by a type."""
    if isinstance(test, ast.Call):
        return operand_of(context, test) is not None
    return isinstance(test, ast.Attribute) and test.attr == "is_cuda"


def _extent(context: Context, chain: Chain) -> tuple[int, int]:
    """The selection: the whole expression, or from the test of an `if` to the device it chooses."""
    if isinstance(chain.node, ast.IfExp):
        return context.source.span(chain.node)
    chosen: ast.AST = chain.cuda_arm
    while context.index.parents[chosen] is not chain.node:
        chosen = context.index.parents[chosen]
    return context.source.span(chain.test)[0], context.source.span(chosen)[1]
