"""An operation whose output size depends on data makes the host wait for it at every step.

## What it does
Flags what a mask selects only to be put under the same mask elsewhere (`x[mask] = y[mask]`,
`x[mask] *= 0`), or to be summed up (`loss[mask].mean()`, `loss.masked_select(mask).sum()`, also by
way of a name and of `(errors < 1).float()`), or to be compared by a loss that makes one number of
it (`F.mse_loss(guess[known], label[known])`, one of torch's or a function of the file that takes
the mean of what it reckons element by element, also by names: `guess = guess[known]`), or to be
reckoned with row by row until its mean is all that is left (a focal loss that leaves out labels),
what a mask selects only to be counted, where tensors are reckoned with the number (`n =
len(loss[loss > 0])`, `loss.sum() / n`), a parameter that is put under a mask (`x[hidden] =
self.token`), and what a mask selects that the object makes once and keeps (`similarity[self.mask]`,
in contrastive losses), at every step of a loop that trains and in every forward pass; what a mask
selects at each turn of a loop without gradients that calls a model a number of times, such as a
sampler (`for i in range(n): part = edges[:, edges[1] == i]; x = self.layer(x)`). In forward passes,
and what they call: `nonzero`, `argwhere`, `torch.where(condition)`, `masked_select`, `unique` and
other reads through a mask at each turn of a loop (`for row in mask: torch.nonzero(row)`). And such
a call that asks once more for what one before it has found of the same tensor.

Opt-in (`--select MPS307`): `nonzero`, `argwhere`, `torch.where(condition)`, `masked_select`,
`unique`, other reads through a mask (`x[mask]`), `repeat_interleave` with a tensor and `F.one_hot`
without a number of classes, on device tensors at every step of a loop that trains. Such operations
are often the point of the program, and a rewrite that keeps the shapes fixed is not always possible
or faster.

## Why is this bad?
The host must know how large the result is before it can go on, so it waits for the device.

## Example
```python
kept = x[mask].sum()
distance[closer] = found[closer]
loss = F.mse_loss(guess[known], label[known])
```
Use instead:
```python
kept = torch.where(mask, x, 0).sum()
distance = torch.where(closer, found, distance)
label = torch.where(known, label, guess.detach())
loss = F.mse_loss(guess, label, reduction="sum") / known.sum()
```

## What is not flagged
`torch.where(c, a, b)`, `masked_fill`, `x[mask] = scalar`, which keep their shape; `one_hot` with
`num_classes`, `repeat_interleave` with `output_size`; what runs rarely, outside training loops, or
on the CPU; in loops of forward passes what the turn hands to functions that are none of torch's
(`nms(boxes[sure], scores[sure])`), and turns that read a number by `.item()`, which MPS303 tells.

## References
- https://pytorch.org/docs/stable/generated/torch.nonzero.html (note on synchronisation)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.model import Confidence, Finding, Severity
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.loops.loops import LoopKind
from mpslint.semantics.purpose.test_code import only_tests_run
from mpslint.semantics.reads.batch_outputs import goes_through_batches
from mpslint.semantics.reads.counted_twice import CountedTwice, counted_twice
from mpslint.semantics.reads.kept_masks import selected_by_kept
from mpslint.semantics.reads.masks import needless_selections
from mpslint.semantics.reads.sized_in_forward import sized_in_forward
from mpslint.semantics.steps.generating import lies_on_device
from mpslint.semantics.steps.step_runs import first_of_runs
from mpslint.semantics.steps.steps import (
    TRAINING_WORDS,
    Step,
    Turns,
    also_waiting,
    at_each,
    is_device_tensor,
    that_trains,
    training,
    training_on_device,
    trains_on_device,
)
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.values.sized_by_data import ALWAYS, SOMETIMES, is_sized_by_data, operand


@rule(
    "MPS307",
    "shape-op-in-loop",
    severity=Severity.SLOW,
    triggers=(b"nonzero", b"argwhere", b"where", b"masked_select", b"unique", b"[", b"one_hot"),
    also=((*TRAINING_WORDS[0], b"def "),),
    least=Confidence.CERTAIN,
    unfixed="what reads the result, and counts on its size, was not followed",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    told: set[ast.expr] = set()
    for steps, instead in _needless(context):
        told |= {step.node for step in steps}
        turns = steps[0].turns
        in_forward = context.passes.around(steps[0].node) is not None
        yield context.finding(
            rule,
            steps[0].node,
            "waits for the size of what the mask selects,"
            f" {_when(context, turns, in_forward=in_forward)}: {instead}",
            labels=(
                context.label(turns, "this runs again and again"),
                *also_waiting(context, steps),
            ),
        )
    for again, turns in _again(context):
        if again.node in told:
            continue
        told.add(again.node)
        yield context.finding(
            rule,
            again.node.func,
            f"counts again what {context.line(again.first)} has counted, and waits once more,"
            f" {_when(context, turns, in_forward=context.passes.around(again.node) is not None)}:"
            " give that a name",
            labels=(
                context.label(again.first, "this has found the same"),
                context.label(turns, "this runs again and again"),
            ),
        )
    for steps in _kept(context, told):
        told |= {step.node for step in steps}
        turns = steps[0].turns
        in_forward = context.passes.around(steps[0].node) is not None
        yield context.finding(
            rule,
            steps[0].node,
            "waits for the size of what the mask selects,"
            f" {_when(context, turns, in_forward=in_forward)}, though that never changes: keep the"
            " places that it selects, as numbers, and index by these",
            labels=(
                context.label(turns, "this runs again and again"),
                *also_waiting(context, steps),
            ),
        )
    statements = {context.index.statement(node) for node in told}
    for around, found in sized_in_forward(context):
        # `near[closer] = found[closer]` is one, told for what it puts away.
        sizes = [step for step in found if context.index.statement(step.node) not in statements]
        if not sizes:
            continue
        told |= {step.node for step in sizes}
        yield context.finding(
            rule,
            _marked(sizes[0].node),
            f"waits for its size at each turn of the loop at {context.line(around)},"
            " in every forward pass",
            labels=(
                context.label(sizes[0].turns, "this runs in every forward pass"),
                *also_waiting(context, sizes),
            ),
        )
    if not rule.tells_inferred(context):
        return
    sized = _sized_by_data(context) if trains_on_device(context) else ()
    trained = [step for step in sized if step.node not in told]
    told |= {step.node for step in trained}
    generated = [step for step in _selected_in_turns(context) if step.node not in told]
    for steps in first_of_runs(context, generated):
        loop = steps[0].turns
        yield context.finding(
            rule,
            steps[0].node,
            "waits for the size of what the mask selects at each turn of the loop at"
            f" {context.line(loop)}, which calls a model each time",
            confidence=Confidence.INFERRED,
            labels=(
                context.label(loop, "this loop goes on without gradients"),
                *also_waiting(context, steps),
            ),
        )
    for step in trained:
        yield context.finding(
            rule,
            _marked(step.node),
            f"waits for its size {at_each(context, step.turns)}",
            confidence=Confidence.INFERRED,
            labels=(that_trains(context, step.turns),),
        )


def _again(context: Context) -> Iterator[tuple[CountedTwice, Turns]]:
    """What is counted twice of one tensor, in what trains or runs in forward passes."""

    def turns(node: ast.AST) -> Turns | None:
        return context.passes.around(node) or (
            training_on_device(context, node) if trains_on_device(context) else None
        )

    for found in counted_twice(context, lambda node: turns(node) is not None):
        around, tensor = turns(found.node), operand(context.names, found.node)
        if around is None or tensor is None or only_tests_run(context, found.node):
            continue
        there = isinstance(around, FUNCTIONS) and context.passes.around(found.node) is around
        if context.values.of(tensor).on_cpu:
            continue
        if there or lies_on_device(context, tensor) or context.placement.on_accelerator(tensor):
            yield found, around


def _marked(node: ast.expr) -> ast.expr:
    return node.func if isinstance(node, ast.Call) else node


def _when(context: Context, turns: Turns, *, in_forward: bool) -> str:
    return "in every forward pass" if in_forward else at_each(context, turns)


def _needless(context: Context) -> Iterator[tuple[list[Step], str]]:
    """Runs of selections that could do without a size, with what does, in what trains or runs in
    forward passes."""
    found: dict[ast.expr, tuple[Step, str]] = {}

    def turns(node: ast.AST) -> Turns | None:
        return context.passes.around(node) or training(context, node)

    for one in needless_selections(context, lambda node: turns(node) is not None):
        around = turns(one.node)
        if around is None or only_tests_run(context, one.node):
            continue
        if context.passes.around(one.node) is None:
            selected = operand(context.names, one.node) if isinstance(one.node, ast.Call) else None
            known = [one.mask] if selected is None else [one.mask, selected]
            if not any(is_device_tensor(context, item) for item in known):
                continue
        found[one.node] = Step(one.node, one.mask, around), one.instead
    for steps in first_of_runs(context, [step for step, _ in found.values()]):
        yield steps, found[steps[0].node][1]


def _kept(context: Context, told: set[ast.expr]) -> Iterator[list[Step]]:
    """Runs of selections by masks that the object made once."""

    def turns(node: ast.AST) -> Turns | None:
        return context.passes.around(node) or (
            training_on_device(context, node) if trains_on_device(context) else None
        )

    found = []
    for read, mask in selected_by_kept(context, lambda node: turns(node) is not None):
        around = turns(read)
        if around is not None and read not in told and not only_tests_run(context, read):
            found.append(Step(read, mask, around))
    yield from first_of_runs(context, found)


def _sized_by_data(context: Context) -> Iterator[Step]:
    for name in (*ALWAYS, *SOMETIMES):
        for call in context.index.calls.get(name, ()):
            tensor = operand(context.names, call)
            if tensor is None or not is_sized_by_data(context.names, context.values, call):
                continue
            turns = training_on_device(context, call)
            if turns is not None and is_device_tensor(context, tensor):
                yield Step(call, tensor, turns)
    for read in context.index.of(ast.Subscript):
        if isinstance(read.ctx, ast.Load) and isinstance(read.slice, ast.Compare | ast.Name):
            turns = training_on_device(context, read)
            if turns is not None and _is_mask(context, read.slice):
                yield Step(read, read.slice, turns)


def _selected_in_turns(context: Context) -> Iterator[Step]:
    """Selections by masks in loops that call a model again and again on the same: a sequence that
    grows, a sampler. What goes through a loader needs what it selects once a batch."""
    loops = context.loops
    for read in context.index.of(ast.Subscript):
        if not isinstance(read.ctx, ast.Load):
            continue
        parts = read.slice.elts if isinstance(read.slice, ast.Tuple) else [read.slice]
        if not any(isinstance(part, ast.Compare | ast.Name) for part in parts):
            continue
        loop = loops.innermost(read)
        if loop is None or loops.kind(loop) not in (LoopKind.EVAL, LoopKind.DEVICE):
            continue
        if goes_through_batches(context, loop) or not loops.every_step(read, loop):
            continue
        if not loops.without_gradients(read) or only_tests_run(context, read):
            continue
        if any(_is_mask(context, part) for part in parts):
            yield Step(read, read, loop)


def _is_mask(context: Context, index: ast.expr) -> bool:
    """A comparison of device tensors, or a name for one."""
    if isinstance(index, ast.Name):
        bindings = context.flow.reaching(index)
        if len(bindings) != 1 or not isinstance(bindings[0].value, ast.Compare):
            return False
    return is_device_tensor(context, index)
