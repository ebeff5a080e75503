"""`.cuda()` only ever means CUDA.

## What it does
Flags calls of `.cuda()` on tensors, modules and whatever else the file holds that is not another
library's.

## Why is this bad?
Off CUDA it raises `AssertionError: Torch not compiled with CUDA enabled`; behind
`if torch.cuda.is_available():`, or an assertion of it that the whole program has to pass, it does
not run, and a Mac's GPU stays unused. A switch of the user's (`if args.cuda:`) does one or the
other. `.to(device)` means the same on CUDA and works everywhere.

## Example
```python
model = Net().cuda()
```
Use instead:
```python
model = Net().to(device)
```

## What is not flagged
`torch.cuda` itself, `.cuda` of cupy, numba and other libraries; what only the arm of an `if` moves
that device-chain-missing-mps tells of, where one fix opens both (its finding goes to the last of
these moves); code under a decorator or an early exit that wants CUDA, and functions, methods and
test cases that the file only calls there; parts that a module moves behind a switch which it
compares with the machine (who moves the module moves them as well); the CUDA arm of a choice that
knows MPS or moves things elsewhere; the CUDA half of tests, which run on the CPU as well, and of
what lies among tests to help them; what a process group reduces or gathers, since no backend of it
takes MPS tensors, and what only runs with several GPUs, as a test does that spreads something over
some by their numbers (`device_ids=[0, 1]`); what was made beside the tensor whose `is_cuda` is
asked (`torch.ones_like(x)`); statements in front of a `raise`; what a module that others import
does below `if __name__ == "__main__":`, its author's trial of it (`check --explain-silence` lists
that); tests behind a move that has raised already; a module that certainly holds neither parameters
nor buffers (`nn.Softmax(dim=1).cuda()`, a loss that is given no weights, a class of the project's
own that keeps numbers, functions and plain tensors): its `.cuda()` goes through its tensors, finds
none, and raises nowhere; and code that is about CUDA by the name of its function, class or file or
by the kernels it imports. Of a class's own `def cuda(self)` those who call it are told, not its
body.

## Fix safety
Safe: `.to(device)` with the device at hand, or one that is selected after the imports, makes the
same move on CUDA (a script that moves its model only `if args.ngpu > 0:` selects behind its
options, and asks that first); `if device.type == "cuda": y = y.cuda()` becomes `y = y.to(device)`,
and `if x.is_cuda: y = y.cuda()` becomes `y = y.to(x.device)`, as does what is
computed with a tensor that the function is given (`y.cuda() * x.view(-1)`) or has at hand
(`torch.zeros(x.size()).cuda() * x`). What such a tensor has made beside it
(`torch.zeros_like(x).cuda() + x`) is there already: the move goes, and its test for CUDA with it.
In `.cuda().float()` of what NumPy may have made float64 the cast comes first, since MPS takes no
float64. The GPU whose number somebody gives (`.cuda(args.gpu)`, `.cuda(self.gpu)`) stays that on
CUDA: the device is selected once, by `torch.device("cuda", args.gpu)` and what there is elsewhere,
and as `self.device` where a class keeps the number; unsafe where it may be no number. Moves behind
a test for CUDA lose the test, all of them or none, since a model on MPS and a batch on the CPU do
not meet. Where they cannot lose it (`.cuda(args.gpu)`, arms that wrap the model for several GPUs),
the CUDA code stays as it is, and an arm for MPS beside it does what the CPU did and moves the same
things. Who leaves out the number of a GPU (`if gpu is not None:`), or gives a negative one where
the file reckons with these, stays on the CPU, unless the file moves other things to CUDA then.
Moves of what holds no tensor go along with the first that is reported,
so that a port does not read as half of one. Indices written as numbers are reported, not rewritten;
where a class, a function or the program puts parts on several GPUs by hand (`.cuda(0)` and
`.cuda(1)`), once.

## References
- `torch/nn/modules/module.py` (`Module.cuda`), `torch/cuda/__init__.py` (`_lazy_init`)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import partial
from typing import cast

from mpslint.model import Applicability, Finding, Label, Severity
from mpslint.patterns.moves import beside_tensor, move_level, move_with
from mpslint.patterns.operand import operand_gate
from mpslint.patterns.read_to import is_read_to
from mpslint.patterns.told_choices import told_with_tests
from mpslint.patterns.unfixed import BY_HAND, of_move
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.gpus.spread_by_hand import Spread, spread_by_hand
from mpslint.semantics.operands.moved_to_itself import is_there
from mpslint.semantics.processes.parallel_batches import WRAPPING, left_to_wrapper
from mpslint.semantics.purpose.purpose import speaks_of_mps
from mpslint.semantics.purpose.test_code import only_tests_run
from mpslint.semantics.worlds.events import Event, Kind
from mpslint.semantics.worlds.load_places import places_a_checkpoint
from mpslint.semantics.worlds.refused import refusal_before

_ADVICE = ".to(device) works everywhere"
_RAISES = f".cuda() raises AssertionError where there is no CUDA; {_ADVICE}"
_OWN = "the cuda() of {} moves to CUDA alone: raises AssertionError where there is no CUDA"
_CAUGHT = ".cuda() raises where there is no CUDA; that is caught, and a Mac's GPU is never used"
_UNUSED = "a Mac's GPU is never used: .cuda() is called only where CUDA is"
_ENDED = "a Mac's GPU is never used: {} ends a run without CUDA before this"
_LEFT = "left to DataParallel"
_STAYS = "moved only where the device is a CUDA one: on MPS this stays where it is"


@rule(
    "MPS102",
    "cuda-method-call",
    severity=Severity.BREAKS,
    triggers=(b".cuda",),
    fix=Applicability.SAFE,
    unfixed="what moves along with it, or stays, was not understood",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    here = [event for event in context.worlds.events(Kind.MOVED) if event.on_mac]
    empty = [event.call for event in here if event.moves_nothing]
    spread = spread_by_hand(context)
    for event in here:
        if event.moves_nothing or places_a_checkpoint(context.index, event.call):
            continue
        if spread is not None and event.call in spread.nodes:
            if spread.is_first(event.call):
                yield _spread(context, rule, event.call, spread)
            continue
        if event.caught:
            yield _finding(context, rule, event, Severity.IGNORES, _CAUGHT)
        elif event.call in context.worlds.own_moves:
            yield _finding(
                context, rule, event, Severity.BREAKS, _OWN.format(_owner(context, event))
            )
        else:
            yield _finding(context, rule, event, Severity.BREAKS, _RAISES, empty)
            empty = []
    alone = [e for e in context.worlds.without_twin if e.kind is Kind.MOVED and not e.on_mac]
    elsewhere = told_with_tests(context) if alone else set()
    for event in alone:
        if event.call in elsewhere or is_read_to(context, event.call):
            continue
        if is_there(context, event.call):
            continue
        refusal = refusal_before(context.worlds, event)
        if refusal is not None:
            message = _ENDED.format(context.ending(refusal))
            yield _finding(context, rule, event, Severity.IGNORES, message)
        elif event.arm:  # Behind an early exit that exit is what is wrong.
            if not event.once_ported and event.call in context.worlds.own_moves:
                continue  # What such a class does with other devices is its own affair.
            if not event.once_ported and _is_told_by_tests(context, event.call):
                continue
            message = _UNUSED if event.once_ported else _STAYS
            yield _finding(context, rule, event, Severity.IGNORES, message)


def _is_told_by_tests(context: Context, call: ast.Call) -> bool:
    """Whether this helps tests that name no MPS: the device is what they say, the CPU or CUDA."""
    return not speaks_of_mps(context) and only_tests_run(context, call)


def _owner(context: Context, event: Event) -> str:
    owner = context.worlds.own_moves[event.call].cls
    return f"`{owner.node.name}`" if owner is not None else "this"


def _finding(
    context: Context,
    rule: Rule,
    event: Event,
    severity: Severity,
    message: str,
    empty: Sequence[ast.Call] = (),
) -> Finding:
    """`empty`: moves of what holds no tensor, which its fix rewrites as well."""
    call = event.call
    assert isinstance(call.func, ast.Attribute)
    start, end = context.name_token(call.func)
    finding = context.finding_at(
        rule,
        start,
        end,
        message,
        severity=severity,
        labels=(*_deciding(context, event), *_left_beside(context, call)),
        advice=_ADVICE if message == _RAISES else "",
        applicability=partial(move_level, context, call),
        fix=partial(move_with, context, call, empty),
        unfixed=partial(of_move, context, call),
    )
    beside = operand_gate(context, call) or beside_tensor(context, call)
    finding.follows = beside is not None
    return finding


def _deciding(context: Context, event: Event) -> tuple[Label, ...]:
    """What keeps a Mac from a move, or the switch that leads it there: of a move that a Mac comes
    to, a test around it, or around a mention of its function. Others only lie on the way."""
    refused = context.refused(event)
    if refused or not event.on_mac:
        return refused or context.decided(event)
    gate = context.index.parents.get(event.gate) if event.gate is not None else None
    if gate is None:
        return ()
    function = context.index.function(event.call)
    mentions = context.index.names.get(function.name, ()) if function is not None else ()
    leads = any(context.index.within(item, gate) for item in (event.call, *mentions))
    return context.decided(event) if leads else ()


def _spread(context: Context, rule: Rule, call: ast.Call, spread: Spread) -> Finding:
    assert isinstance(call.func, ast.Attribute)
    start, end = context.name_token(call.func)
    labels = spread.labels(context, call)
    return context.finding_at(rule, start, end, spread.message, labels=labels, unfixed=BY_HAND)


def _left_beside(context: Context, move: ast.Call) -> tuple[Label, ...]:
    """The calls of a model, in the loop around the first move of a part of a batch, that are given
    another part as the loader made it: `DataParallel` takes it to CUDA, and nothing to MPS."""
    if WRAPPING not in context.source.data:
        return ()
    if _LEFT not in context.memo:
        context.memo[_LEFT] = list(left_to_wrapper(context.tree))
    left = cast("list[ast.Call]", context.memo[_LEFT])
    loop = context.index.enclosing(move, ast.For)
    found = [call for call in left if context.index.enclosing(call, ast.For) is loop]
    if not found or loop is None:
        return ()
    moves = [other for other in context.index.calls["cuda"] if context.index.within(other, loop)]
    if move is not min(moves, key=lambda other: (other.lineno, other.col_offset)):
        return ()
    return tuple(context.label(call, "only DataParallel moves its input") for call in found)
