"""`.item()` at every step of a training loop waits for the device each time.

## What it does
Flags `.item()` and `float(t)` of a tensor on a device at every step of training: the loss that is
printed or summed up, an accuracy, a norm. A step is a turn of a loop that trains, or a call of a
function that trains without a loop (`update`, a callback of an engine) or adds the gradients of the
parts of a batch up in one, with the functions of the file that it calls by name or by way of
`self`; so is an arm that trains one of several networks every few turns (`if step % n_critic ==
0:`), a turn that goes through the parts of a batch in strides (`for part in range(0, batch,
micro):` in `for start in range(0, n, batch):`), a hook of Lightning's that its trainer calls at
each step (`on_train_batch_end`, of a module or a callback), the `compute_loss` of who inherits from
the trainer of transformers, a method that a class calls on itself at each step where another that
inherits from it defines one, in whichever files, a function of the module that a step of training
in another file of the project gives tensors of a device or the parameters of its model
(`norm_of(model.parameters())`, which reads `p.grad.norm().item()`), a method of a class that makes
numbers of tensors (`if isinstance(value, torch.Tensor): value = value.item()`) where such a step
gives it some, and what a test of the step guards whose interval is 1 unless somebody asks for more.
What `backward()` is called on is a tensor, wherever it comes from, in a file that uses a device
itself or has Accelerate or Fabric place what it trains; so are the parts of its sum that are read
(`loss = error + penalty`), what one call hands back with it, and what an object keeps of one
(`criterion(scores, y)`, then `criterion.style_loss.item()`). Several reads with no device work
between them are reported once, at the first, with the places of the others. So are the reads that
no method tells: `int(t)`, `range(t)`, `math.sqrt(t)`, Python's `max(t)`, a bound of a slice, an
index into a list, the size or the fill value of a factory, `torch.tensor([t, ...])`, an element of
a NumPy array (`errors[i] += t`). A loop that each forward pass of a module runs, in its `forward`
or in what that calls in the project, counts like one that trains, whoever calls the module: each
turn that reads a number waits. And a loop, whatever it is for, that reads a tensor of a device
element by element (`t[i].item()`, `t[i].tolist()`, `if t[i]`, `if t[i] > 0`, `if t[i] in ends`, `[x
for x in row if x != pad]`, `row[:end]` of `for row, end in zip(rows, t)`, `names[int(label)]` of
`for *box, score, label in t`, `counts[i, j] += 1` of a NumPy array for `i, j in zip(labels,
guesses)`), where one copy before it would do, also where a caller in the file, or a step of
training in another, hands the tensor over, a step of Lightning's has computed it, or a metric of
torchmetrics is told it (`update`); and one that fills a tensor of the device with an element of a
buffer (`torch.full(shape, self.alphas[i])`), itself or in a function that it calls. Nor need a loop
over the parameters of a model that reads a number of each gradient (`total += p.grad.norm().item()
** 2`) train anything itself: the norms can be stacked and read once. In every forward pass, also
outside loops: numbers that a module reads of its own parameters and buffers (`x /
self.scale.item()`), numbers that it reads only to hand them back or to keep them for others
(`return loss, {"recon": recon.item()}`, `self.last = loss.item()`), and numbers of the host that it
puts on the device itself only to read them back (`n = torch.as_tensor([n], device=x.device); ...; n
= (n / processes()).item()`). In an evaluation (without gradients, with a model or batches of a
device, or of what `.eval()` was called on before it): numbers that the loop reads at each turn only
to add them up or to keep them (`correct += hits.sum().item()`, `meter.update(loss.item(), n)`,
`losses.append(loss.item())`), also where each turn shows the sum in a text or a progress bar, and
be it in the method that Lightning's trainer calls for each batch. In both: calls of a function of
another file of the project, or of a method of what is made of a class there, that reads a number of
the tensors that it is given (`acc += get_accuracy(scores, y)`, `meters.update(**losses)`). And
Python's own `max` and `min` of tensors in a forward pass, which compare them on the host.

## Why is this bad?
Work is queued: Python runs ahead and the device is kept busy. A read of the value stops Python
until everything before it is done, and the device then idles until Python has queued more. On MPS
one such read per step was measured at 6 ms of a step of 10 ms.

## Example
```python
for x, y in loader:
    ...
    total += loss.item()
```
Use instead:
```python
for x, y in loader:
    ...
    total += loss.detach()
total = float(total)
```
or read only every so many steps: `if step % 50 == 0: print(loss.item())`.

## What is not flagged
Reads under a test of the step (`if step % 50 == 0`, `if step == last`, `if step in steps`, a `case`
of `match step % 50`, by a name for such a test as well), of the time that has passed since (`if
time.time() - last > 10: last = time.time()`), of `logging.DEBUG`, of the rank or of a verbosity
switch, in an error path or the arm of a test for NaN (`if loss.isnan().any():`), behind `if step %
n: continue`; after the loop; of gradients in what few steps alone, or nobody, is seen to call, and
of a module that was moved to the CPU; in the arm that one turn alone comes to (`if i == 0`, `if i +
1 == count`); beside a test that the turn makes of the same tensor to go on (`if loss < best: best =
loss`), which waits anyway; of an action that an environment answers with the next state (`state,
reward, done, _ = env.step(action.item())`); once per epoch, also where an epoch is one step and
what is read is printed; in evaluation loops what the turn itself needs, or prints alone, and what
is read beside a copy that it needs anyway (but for reads element by element), or beside a table in
which each element finds a place (`table[label][guess] += 1`); tensors known to be on the CPU and
programs that never use another device (a file that trains what its callers hand it says nothing of
that); values that are no tensors of torch (NumPy scalars, pandas, dictionaries' `.items()`); loops
that wait on purpose at every step (`synchronize`, or a helper of the file that does so); functions
that hand to NumPy as it is what comes from out of sight, since that is on the CPU then; in a
forward pass, a read outside loops that the pass needs (a length for a shape) but for that of a
parameter or buffer, arms for predictions alone (`if not self.training`), what is known to lie on
the CPU.

## Fix safety
Unsafe: the sum is kept on the device in the tensor's precision instead of in a Python float.
Offered for a loss summed up into a name that is zero before the loop and not read in it.

## References
- `aten/src/ATen/native/Scalar.cpp` (`item`), `aten/src/ATen/native/mps/operations/Copy.mm`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import partial

from mpslint.model import Applicability, Confidence, Finding, Label, Severity
from mpslint.patterns.kept_sum import accumulates, keep_on_device, waits_anyway
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.loops.loops import Loop
from mpslint.semantics.purpose.test_code import only_tests_run
from mpslint.semantics.reads.asked_anyway import is_asked_anyway
from mpslint.semantics.reads.asked_by_environments import is_asked_for
from mpslint.semantics.reads.batch_outputs import is_evaluation
from mpslint.semantics.reads.element_reads import ElementRead, element_reads
from mpslint.semantics.reads.gathering import gathered
from mpslint.semantics.reads.gradient_reads import GradientRead, gradient_reads
from mpslint.semantics.reads.handed_back_numbers import handed_back_numbers
from mpslint.semantics.reads.implicit_reads import compared
from mpslint.semantics.reads.known_numbers import numbers_read_back
from mpslint.semantics.reads.number_reads import (
    is_read,
    numbers_in_forward,
    read_tensor,
    reads_ahead,
    reads_at_steps,
    says_so,
)
from mpslint.semantics.reads.own_numbers import own_numbers, own_of
from mpslint.semantics.reads.reading_callees import calls_that_read
from mpslint.semantics.steps.step_runs import first_of_runs, joined_by_tables, most_in_one_turn
from mpslint.semantics.steps.steps import (
    TRAINING_WORDS,
    Step,
    also_waiting,
    at_each,
    that_trains,
    training,
    trains_on_device,
    trains_what_it_is_given,
)
from mpslint.semantics.steps.trainer_steps import has_trainer_evaluation, has_trainer_step
from mpslint.semantics.syntax.index import FUNCTIONS

_WORDS = tuple((*group, b"def ", b"cuda", b"device") for group in TRAINING_WORDS)


_GATHERED = "what is gathered, and where it is read, is for its author to say"


@rule(
    "MPS303",
    "item-in-loop",
    severity=Severity.SLOW,
    triggers=(
        b".item(",
        b"float(",
        b"int(",
        b"range(",
        b"[",
        b"max(",
        b"min(",
        b"math.",
        b"alpha",
        b"import",
    ),
    also=_WORDS,
    fix=Applicability.UNSAFE,
    unfixed="the number is needed here, or nothing says where it could wait until the loop is over",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    told = set()
    for finding in (
        *_in_forward_passes(context, rule),
        *_at_steps(context, rule),
        *_gathered(context, rule),
    ):
        told.add(finding.row)
        yield finding
    for finding in _in_callees(context, rule, told):
        told.add(finding.row)
        yield finding
    for found in gradient_reads(context):
        if found.node.lineno not in told and not only_tests_run(context, found.node):
            told |= {found.node.lineno, *(other.lineno for other in found.others)}
            yield _of_gradients(context, rule, found)
    for read in element_reads(context):
        if context.source.position(context.source.span(read.node)[0])[
            0
        ] not in told and not only_tests_run(context, read.node):
            yield context.finding(
                rule,
                read.node,
                f"waits for the device at each turn of the loop at {context.line(read.loop)}:"
                " copy the tensor to the CPU once before it",
                confidence=Confidence.INFERRED,
                labels=(
                    context.label(read.whole, "this lies on the device"),
                    *_also_read(context, read),
                ),
            )


def _of_gradients(context: Context, rule: Rule, found: GradientRead) -> Finding:
    start, end = _token(context, found.node)
    return context.finding_at(
        rule,
        start,
        end,
        f"waits for the device for each parameter in the loop at {context.line(found.loop)}:"
        " stack the numbers of all gradients, and read them once behind it",
        confidence=Confidence.INFERRED,
        labels=also_waiting(
            context, [Step(node, node, found.loop) for node in (found.node, *found.others)]
        ),
    )


def _also_read(context: Context, read: ElementRead) -> tuple[Label, ...]:
    """The places of the further reads of a loop, a line each."""
    rows = {node.lineno: node for node in reversed(read.others)}
    rows.pop(read.node.lineno, None)
    return tuple(context.label(rows[row], "read here as well") for row in sorted(rows))


def _at_steps(context: Context, rule: Rule) -> Iterator[Finding]:
    """Runs of reads at each step of training."""
    if not trains_on_device(context):
        return
    runs = [
        run
        for run in first_of_runs(context, list(reads_at_steps(context)))
        if not any(
            is_asked_anyway(context, read) or is_asked_for(context, read.node) for read in run
        )
    ]
    for run in joined_by_tables(context, runs):
        reads = [*reads_ahead(context, run[0]), *run]
        count = most_in_one_turn(context, reads)
        more = f" (the first of {count} reads)" if count > 1 else ""
        turns = reads[0].turns
        yield _finding(
            context,
            rule,
            reads,
            f"waits for the device {at_each(context, turns)}{more}",
            (that_trains(context, turns), *also_waiting(context, reads)),
        )


def _in_callees(context: Context, rule: Rule, told: set[int]) -> Iterator[Finding]:
    """Calls of functions of other files that read numbers of tensors that they are given."""
    for run in calls_that_read(context, told):
        (call, _, turns), function = run[0].step, run[0].function
        more = f" (the first of {len(run)} such calls)" if len(run) > 1 else ""
        start, end = _token(context, call)
        yield context.finding_at(
            rule,
            start,
            end,
            f"`{function.name}` reads a number of its tensors, so that this waits for the device at"
            f" each turn of the loop at {context.line(turns)}{more}: have it return or keep a"
            " tensor, and read that after the loop",
            confidence=Confidence.INFERRED,
            labels=(
                context.label(turns, "this runs again and again"),
                *also_waiting(context, [item.step for item in run]),
            ),
        )


def _gathered(context: Context, rule: Rule) -> Iterator[Finding]:
    """One for each evaluation that reads numbers that nothing in its loop asks for."""
    if not (
        context.placement.program_uses_devices
        or trains_what_it_is_given(context)
        or has_trainer_step(context)
        or has_trainer_evaluation(context)
    ):
        return
    steps = []
    for read in (c for name in ("item", "float", "int") for c in context.index.calls.get(name, ())):
        whole = read_tensor(read)
        if whole is None or not is_read(context, read, whole):
            continue
        loop = gathered(context, read, whole)
        if loop is None or not is_evaluation(context, loop):
            continue
        if not only_tests_run(context, read):
            steps.append(Step(read, whole, loop))
    by_loop: dict[ast.AST, list[Step]] = {}
    for step in (item for run in first_of_runs(context, steps) for item in run):
        by_loop.setdefault(step.turns, []).append(step)
    for run in by_loop.values():
        turns = run[0].turns
        more = " (the first of several reads)" if len(run) > 1 else ""
        when, what = f"turn of the loop at {context.line(turns)}", "loop"
        after = "after the loop, or every so many turns"
        if isinstance(turns, FUNCTIONS):
            when, what, after = f"call of `{turns.name}`", "method", "at the end of the epoch"
        message = (
            f"waits for the device at each {when}{more}, though nothing in it needs the number:"
            f" gather on the device, and read it {after}"
        )
        gathers = context.label(turns, f"this {what} only gathers the numbers")
        labels = (gathers, *also_waiting(context, run))
        yield _finding(context, rule, run, message, labels, unfixed=_GATHERED)


def _finding(
    context: Context,
    rule: Rule,
    reads: Sequence[Step],
    message: str,
    labels: tuple[Label, ...],
    *,
    unfixed: str = "",
) -> Finding:
    """At the first of `reads`; with a fix where it is the only one, and adds a number up."""
    call, tensor, turns = reads[0]
    statement = context.index.statement(call)
    offer = (
        len(reads) == 1
        and isinstance(call, ast.Call)
        and accumulates(context, statement, call, tensor, turns)
    )
    other = waits_anyway(context, call, turns) if offer else None
    if other is not None:
        offer, unfixed = False, f"{context.line(other)}: the loop waits for the device all the same"
    start, end = _token(context, call)
    return context.finding_at(
        rule,
        start,
        end,
        message,
        confidence=Confidence.INFERRED,
        labels=labels,
        applicability=Applicability.UNSAFE if offer else None,
        fix=partial(keep_on_device, context, call, turns, statement) if offer else None,
        unfixed=unfixed,
    )


def _in_forward_passes(context: Context, rule: Rule) -> Iterator[Finding]:
    """One for each loop of a forward pass that reads numbers of tensors."""
    reads: dict[Loop, list[Step]] = {}
    for node, tensor in numbers_in_forward(context):
        around = context.passes.loop(node)
        if around is None or _is_told_at_steps(context, node, tensor):
            continue
        loop, function = around
        if not says_so(node) and not context.passes.is_tensor(tensor, function):
            continue
        if context.passes.is_read_back(tensor, loop, function) and context.passes.runs(function):
            reads.setdefault(loop, []).append(Step(node, tensor, function))
    yield from _compared_in_forward(context, rule)
    yield from _own_in_forward(context, rule)
    yield from _read_back(context, rule)
    yield from _handed_back(context, rule)
    for loop, steps in reads.items():
        start, end = _token(context, steps[0].node)
        yield context.finding_at(
            rule,
            start,
            end,
            f"waits for the device at each turn of the loop at {context.line(loop)}, in every"
            " forward pass",
            confidence=Confidence.INFERRED,
            labels=(
                context.label(steps[0].turns, "this runs in every forward pass"),
                *also_waiting(context, steps),
            ),
        )


def _own_in_forward(context: Context, rule: Rule) -> Iterator[Finding]:
    """Numbers of the module's own parameters and buffers, one for each run of reads."""
    steps = [
        step
        for step in own_numbers(context)
        if context.passes.loop(step.node) is None
        and not _is_told_at_steps(context, step.node, step.tensor)
        and not only_tests_run(context, step.node)
    ]
    for run in first_of_runs(context, steps):
        call, tensor, turns = run[0]
        start, end = _token(context, call)
        yield context.finding_at(
            rule,
            start,
            end,
            f"reads a number of `{context.source.segment(tensor)}` and waits for the device in"
            " every forward pass: keep it a tensor, or read it where it changes",
            confidence=Confidence.INFERRED,
            labels=(
                context.label(turns, "this runs in every forward pass"),
                *also_waiting(context, run),
            ),
        )


def _read_back(context: Context, rule: Rule) -> Iterator[Finding]:
    """Numbers that a forward pass puts on the device itself."""
    for call, tensor, function in numbers_read_back(context):
        if context.passes.loop(call) is not None or _is_told_at_steps(context, call, tensor):
            continue
        if only_tests_run(context, call):
            continue
        start, end = _token(context, call)
        yield context.finding_at(
            rule,
            start,
            end,
            "waits for a number that the host had before it was copied to the device, in every"
            " forward pass: keep it there, or leave it here where one process runs",
            confidence=Confidence.INFERRED,
            labels=(context.label(function, "this runs in every forward pass"),),
        )


def _handed_back(context: Context, rule: Rule) -> Iterator[Finding]:
    """Numbers that a forward pass hands back, one for each run of reads."""
    steps = [
        step
        for step in handed_back_numbers(context)
        if not _is_told_at_steps(context, step.node, step.tensor)
        and own_of(context, step.tensor) is None
        and not only_tests_run(context, step.node)
    ]
    for run in first_of_runs(context, steps):
        call, tensor, turns = run[0]
        start, end = _token(context, call)
        what = f"`{tensor.id}`" if isinstance(tensor, ast.Name) else "the tensor"
        yield context.finding_at(
            rule,
            start,
            end,
            f"waits for a number in every forward pass, which only hands it back: hand back {what},"
            " detached, and read it where it is shown",
            confidence=Confidence.INFERRED,
            labels=(
                context.label(turns, "this runs in every forward pass"),
                *also_waiting(context, run),
            ),
        )


def _is_told_at_steps(context: Context, node: ast.expr, tensor: ast.expr) -> bool:
    """Whether a read is one of a step of training, as `_at_steps` tells it. In a file that leaves
    the device to others a forward pass may train as well: a discriminator within its loss."""
    if not trains_on_device(context) or training(context, node) is None:
        return False
    known = isinstance(node, ast.Call) and is_read(context, node, tensor)
    return known or context.placement.program_uses_devices


def _compared_in_forward(context: Context, rule: Rule) -> Iterator[Finding]:
    """`max(t.sum(), 1)` of Python's own in a forward pass, outside loops."""
    if b"forward" not in context.source.data:
        return
    for name in ("max", "min"):
        for call, tensor in compared(context, name):
            function = context.passes.around(call)
            if function is None or context.loops.innermost(call) is not None:
                continue
            if context.values.of(tensor).on_cpu or not context.passes.is_tensor(tensor, function):
                continue
            yield context.finding(
                rule,
                call.func,
                f"Python's `{name}` compares tensors and waits for the device in every forward"
                f" pass: `torch.clamp` or `torch.{name}imum` does it there",
                confidence=Confidence.INFERRED,
                labels=(context.label(function, "this runs in every forward pass"),),
            )


def _token(context: Context, node: ast.expr) -> tuple[int, int]:
    """What is marked: the name of the method or function, else the whole expression."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name):
        return context.name_token(node.func)
    return context.source.span(node)
