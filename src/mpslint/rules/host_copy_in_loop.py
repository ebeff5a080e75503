"""`.cpu()`, `.tolist()` or `.numpy()` at every step of a training loop waits each time.

## What it does
Flags copies of a device tensor to the host at every step of a loop that trains. What is copied for
NumPy or a list (`x.cpu().numpy()`) is a tensor wherever it comes from, and on a device, in a
program that uses one. In any loop that has a model or a loader, also one that only evaluates:
copies of a batch, or of a part of it, that this turn has moved to the device and nothing has
changed since (`y = y.to(device); ...; y.cpu()`: keep what came from the loader), what is copied at
each turn and read only under a switch that the loop does not change (`if args.save_logits:`), and
what is copied at each turn only to be added up or kept for after the loop (`correct +=
(guesses.cpu() == y).sum()`, `guesses.append(logits.argmax(1).cpu().numpy())`), also in the method
that Lightning's trainer calls for each batch of an evaluation. So are whole outputs of batches
(`features.append(output.cpu())`): the memory of a Mac is the same on both sides. And, in a loop
whatever it is for, parts of a tensor that was there before it (`for i in range(len(points)):
keep(points[i].cpu())`, where `points.cpu()` before the loop would do), and what each turn reckons
anew from such tensors and its counter alone (`torch.where(overlap >= levels[i])[0].cpu().numpy()`),
in code that a loop runs again and again. In forward passes, and what they call: copies at each turn
of a loop (`for part in target.t(): np.isin(part.cpu().numpy(), labels)`), and copies of the
module's own parameters and buffers (`np.argwhere(self.indexes.data.cpu().numpy())`), which could be
made where they change. Everywhere in these, casts by a type of the CPU's tensors of what lies on
the device and goes back there (`labels.type(torch.LongTensor).to(x.device)`; `labels.long()` would
do). A program uses a device also where it hands one to its
helpers (`featurize(batch, device)`).

## Why is this bad?
The copy waits until everything queued before it is done, and the device idles until Python has
queued more. Keep the results on the device and copy them once.

## Example
```python
for x, y in loader:
    ...
    predictions.append(output.argmax(1).cpu())
```
Use instead:
```python
for x, y in loader:
    ...
    predictions.append(output.argmax(1))
predictions = torch.cat(predictions).cpu()
```

## What is not flagged
Copies under a test of the step, the rank or a verbosity switch, at one turn of the loop alone (`if
i + 1 == count`), after it, or in evaluation loops that need what they copy, or make it only when
they are asked to (`if args.save:`), that draw what they keep, free memory, take the time or have a
tokenizer make texts of a tensor (`batch_decode`); what a step switches off in a function that it
calls (`run(batch, save=False)`); what goes to the next `step(...)` of an environment, or to
whatever method of an object that began what the loop goes through and answers with what its next
turn is about (`state = world.begin()`; `state, reward = world.act(action)`), or to a method of the
object that gave the batch (priorities of a replay buffer) whose class works through it in Python or
by NumPy; one copy in a forward pass outside loops of what the pass has computed (most is for what
works on the host); `.to("cpu", non_blocking=True)`; parts that a turn shows, draws or writes to a
file, or of what a model hands back as it is, which may be a list; modules and state dicts
(checkpoints); tensors known to be on the CPU; loops that wait on purpose at every step.

## Told when asked for
Where somebody asks for the rule (`extend-select = ["MPS304"]`) these are told as well: what a loop
copies at each turn only to keep it (a number that it adds up, `correct += hits.cpu().sum()`, is
told by default, as `.item()` is; of 21 on code that nobody had looked at, readers
called 10 right, and 8 true but of no use: a copy a batch is little beside a model's work); a tensor
that was there before the loop and is copied part by part, unless a step of training in another file
hands it to the function around; and one copy in a function that is a step
of training (`def train_step(batch): ...`), unless what it copies is only handed back
(`return {"loss": loss.cpu().numpy()}`): most of these copies are for NumPy, a tree or an
environment that the step goes on with, and cannot be avoided (of 12, readers called 5 right and 7
true but of no use; 5 of the right ones hand back a loss).

## References
- `aten/src/ATen/native/mps/operations/Copy.mm`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.model import Confidence, Finding, Severity
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.purpose.purpose import in_cpu_arm
from mpslint.semantics.purpose.test_code import only_tests_run
from mpslint.semantics.reads.asked_by_environments import is_asked_for
from mpslint.semantics.reads.batch_outputs import (
    is_evaluation,
    is_joined,
    keeps_batches,
    reads_one_number,
    whole,
)
from mpslint.semantics.reads.casts_over_host import casts_over_host
from mpslint.semantics.reads.copies_in_forward import copies_in_loops, own_copies
from mpslint.semantics.reads.element_reads import element_reads, is_given_in_a_step
from mpslint.semantics.reads.fed_back import is_fed_back
from mpslint.semantics.reads.gathering import gathered, is_small, is_summed
from mpslint.semantics.reads.needless_copies import batch_back, read_under_switch
from mpslint.semantics.reads.part_copies import PartCopy, part_copies
from mpslint.semantics.reads.put_away import is_added_up, is_put_away, uses_of
from mpslint.semantics.steps.given_in_steps import parameters_given
from mpslint.semantics.steps.handed_tensors import is_made_of_handed
from mpslint.semantics.steps.step_runs import first_of_runs, joined_by_tables, most_in_one_turn
from mpslint.semantics.steps.steps import (
    TRAINING_WORDS,
    Step,
    Turns,
    also_waiting,
    at_each,
    is_device_tensor,
    that_trains,
    training_on_device,
    trains_on_device,
)
from mpslint.semantics.syntax.expressions import keyword, last_name
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.terms.value import Kind
from mpslint.semantics.uses.never_chosen import is_never_chosen
from mpslint.semantics.values.placement import has_host_copy, is_host_copy

_METHODS = ("cpu", "to", "tolist", "numpy")


@rule(
    "MPS304",
    "host-copy-in-loop",
    severity=Severity.SLOW,
    triggers=(b".cpu(", b".to(", b".tolist(", b".numpy(", b".type("),
    also=((*TRAINING_WORDS[0], b"for", b"def "),),
    partly=True,
    unfixed="whether it may wait for the end of the loop is for its author to say",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    told = set()
    for finding in _at_steps(context, rule):
        told.update({finding.row, *(label.row for label in finding.labels)})
        yield finding
    for finding in _needless(context, rule, told):
        told.update({finding.row, *(label.row for label in finding.labels)})
        yield finding
    for finding in _gathered(context, rule, told):
        told.update({finding.row, *(label.row for label in finding.labels)})
        yield finding
    for finding in _in_forward_passes(context, rule, told):
        told.update({finding.row, *(label.row for label in finding.labels)})
        yield finding
    for finding in _by_types(context, rule):
        if finding.row not in told:
            yield finding
    yield from _in_parts(context, rule, told)


def _by_types(context: Context, rule: Rule) -> Iterator[Finding]:
    """Casts by types of the CPU's tensors, of what goes back to the device."""
    found = {cast.step.node: cast for cast in casts_over_host(context)}
    for run in first_of_runs(context, [cast.step for cast in found.values()]):
        first, _, turns = run[0]
        if only_tests_run(context, first):
            continue
        method, looped = found[first].method, not isinstance(turns, FUNCTIONS)
        when = _at_each_turn(context, turns) if looped else "in every forward pass"
        yield context.finding_at(
            rule,
            *context.name_token(first.func),  # type: ignore[attr-defined]
            f"this type is one of the CPU: copies there, waits, and copies back {when};"
            f" `.{method}()` casts on the device",
            confidence=Confidence.INFERRED,
            labels=(
                context.label(turns, "this runs again and again"),
                *also_waiting(context, run),
            ),
            unfixed="what casts where the tensor lies is for its author to write",
        )


def _in_forward_passes(context: Context, rule: Rule, told: set[int]) -> Iterator[Finding]:
    """One for each loop of a forward pass that copies, and for what is the module's own."""
    calls = [call for call in _that_copy(context) if call.lineno not in told]
    as_numbers = _told_as_numbers(context) if calls else []
    calls = [
        call
        for call in calls
        if not is_asked_for(context, call)
        and not any(context.index.within(call, node) for node in as_numbers)
    ]
    found = [
        (steps, f"at each turn of the loop at {context.line(loop)}, in every forward pass")
        for loop, steps in copies_in_loops(context, calls)
    ]
    looped = {step.node for steps, _ in found for step in steps}
    own = [step for step in own_copies(context, calls) if step.node not in looped]
    found += [
        (steps, "in every forward pass: copy where the module sets it, or reckon on the device")
        for steps in first_of_runs(context, own)
    ]
    for steps, when in found:
        yield context.finding_at(
            rule,
            *context.name_token(steps[0].node.func),  # type: ignore[attr-defined]
            f"copies to the host and waits {when}",
            confidence=Confidence.INFERRED,
            labels=(
                context.label(steps[0].turns, "this runs in every forward pass"),
                *also_waiting(context, steps),
            ),
        )


def _in_parts(context: Context, rule: Rule, told: set[int]) -> Iterator[Finding]:
    """One for each loop that copies part by part what was there before it."""
    copied = [
        call
        for call in _that_copy(context)
        if call.lineno not in told
        and (
            is_device_tensor(context, call.func.value)  # type: ignore[attr-defined]
            or _copied_for_numpy(context, call)
            or context.placement.on_accelerator(call.func.value)  # type: ignore[attr-defined]
            or _copied_by_who_knows(context, call)
        )
    ]
    by_loop: dict[ast.AST, list[PartCopy]] = {}
    as_numbers = _told_as_numbers(context) if copied else []
    for copy in part_copies(context, copied):
        if any(context.index.within(copy.call, node) for node in as_numbers):
            continue
        # What no caller chooses is not told, and what is told with it would go with it.
        row = context.source.position(context.source.span(copy.call)[0])[0]
        if not only_tests_run(context, copy.call) and not is_never_chosen(context, row):
            by_loop.setdefault(copy.loop, []).append(copy)
    for loop, copies in by_loop.items():
        first, *others = sorted(copies, key=lambda one: (one.call.lineno, one.call.col_offset))
        rows = {one.call.lineno: one.call for one in others if one.call.lineno != first.call.lineno}
        what = "the whole" if first.whole is not None else "what it is made of"
        yield context.finding_at(
            rule,
            *context.name_token(first.call.func),  # type: ignore[arg-type]
            f"copies to the host and waits at each turn of the loop at {context.line(loop)}: copy"
            f" {what} once before it",
            confidence=Confidence.INFERRED,
            labels=(
                context.label(loop, "this loop works on what was there before it"),
                *(context.label(call, "read here as well") for call in rows.values()),
            ),
            by_request=first.whole is not None and not is_given_in_a_step(context, first.whole),
        )


def _told_as_numbers(context: Context) -> list[ast.expr]:
    """Copies of parts which MPS303 tells as reads of elements (`row.tolist()`): one finding a copy
    is enough."""
    if not context.tells("MPS303"):
        return []
    return [node for read in element_reads(context) for node in (read.node, *read.others)]


def _gathered(context: Context, rule: Rule, told: set[int]) -> Iterator[Finding]:
    """One for each loop that copies at each turn what nothing in it asks for."""
    by_loop: dict[Turns, list[Step]] = {}
    waiting: set[Turns] = set()
    whole_outputs: dict[Turns, list[Step]] = {}
    for call in _that_copy(context):
        assert isinstance(call.func, ast.Attribute)
        tensor = call.func.value
        known = (
            is_joined(context, call)
            or is_device_tensor(context, tensor)
            or _copied_for_numpy(context, call)
        )
        if not known and not _copied_by_who_knows(context, call):
            continue
        chain = whole(context, call)
        loop = gathered(context, chain, tensor)
        if loop is None or only_tests_run(context, call):
            continue
        if not known and not is_evaluation(context, loop):
            continue  # Parameters, before they are saved.
        step = Step(call, tensor, loop)
        one = reads_one_number(context, call)
        if one or is_summed(context, chain) or is_small(context, tensor):
            by_loop.setdefault(loop, []).append(step)
        elif not keeps_batches(context, loop, chain):
            waiting.add(loop)
        elif not isinstance(chain, ast.Call) or last_name(chain.func) != "tolist":
            whole_outputs.setdefault(loop, []).append(step)
    for loop, steps in whole_outputs.items():
        # One output that the turn works on as well is worked on where there is memory for it.
        plain = (
            len(steps) > 1 or is_joined(context, steps[0].node) or is_put_away(context, steps[0])
        )
        if loop in by_loop or (plain and loop not in waiting):
            by_loop.setdefault(loop, []).extend(steps)
    for turns, steps in by_loop.items():
        come = [step for run in first_of_runs(context, steps) for step in run]
        inside = range(turns.lineno, (turns.end_lineno or turns.lineno) + 1)
        if not come or not told.isdisjoint(inside):
            continue
        first = come[0].node
        assert isinstance(first, ast.Call)
        assert isinstance(first.func, ast.Attribute)
        more = " (the first of several copies)" if len(come) > 1 else ""
        what, after = ("loop", "after the loop")
        if isinstance(turns, FUNCTIONS):
            what, after = ("method", "at the end of the epoch")
        yield context.finding_at(
            rule,
            *context.name_token(first.func),
            f"copies to the host and waits {_at_each_turn(context, turns)}{more}, though nothing"
            f" in it needs the copy: gather on the device, and copy once {after}",
            confidence=Confidence.INFERRED,
            labels=(
                context.label(turns, f"this {what} only gathers what it copies"),
                *also_waiting(context, come),
            ),
            by_request=not all(
                reads_one_number(context, one.node) or is_added_up(context, one.node)
                for one in steps
            ),
        )


def _needless(context: Context, rule: Rule, told: set[int]) -> Iterator[Finding]:
    """Copies that no turn of a loop needs, also where nothing is trained."""
    why: dict[ast.expr, str] = {}
    steps = []
    for call in _that_copy(context):
        assert isinstance(call.func, ast.Attribute)
        batch = batch_back(context, call)
        if batch is not None:
            why[call] = "what was on the CPU before comes back from the device, which waits,"
            steps.append(Step(call, call.func.value, batch.loop))
        elif is_device_tensor(context, call.func.value) or _copied_for_numpy(context, call):
            found = read_under_switch(context, call)
            if found is not None:
                switch = context.source.segment(found[1])
                why[call] = f"waits for what is read only under `{switch}`"
                steps.append(Step(call, call.func.value, found[0]))
    for run in first_of_runs(context, steps):
        first, _, turns = run[0]
        assert isinstance(first, ast.Call)
        assert isinstance(first.func, ast.Attribute)
        start, end = context.name_token(first.func)
        if context.source.position(start)[0] in told or only_tests_run(context, first):
            continue
        yield context.finding_at(
            rule,
            start,
            end,
            f"{why[first]} {_at_each_turn(context, turns)}",
            confidence=Confidence.INFERRED,
            labels=(context.label(turns, "this loop"), *also_waiting(context, run)),
        )


def _at_each_turn(context: Context, turns: Turns) -> str:
    if isinstance(turns, FUNCTIONS):
        return f"at each call of `{turns.name}`"
    return f"at each turn of the loop at {context.line(turns)}"


def _that_copy(context: Context) -> Iterator[ast.Call]:
    for method in _METHODS:
        for call in context.index.calls.get(method, ()):
            if (
                isinstance(call.func, ast.Attribute)
                and _waits(call)
                and not has_host_copy(call.func.value)
                and not in_cpu_arm(context, call)
            ):
                yield call


def _at_steps(context: Context, rule: Rule) -> Iterator[Finding]:
    """Copies at the steps of training."""
    if not trains_on_device(context):
        return
    for steps in joined_by_tables(context, first_of_runs(context, list(_copies(context)))):
        call, _, turns = steps[0]
        assert isinstance(call, ast.Call)
        assert isinstance(call.func, ast.Attribute)
        count = most_in_one_turn(context, steps)
        more = f" (the first of {count} copies)" if count > 1 else ""
        start, end = context.name_token(call.func)
        yield context.finding_at(
            rule,
            start,
            end,
            f"copies to the host and waits {at_each(context, turns)}{more}",
            confidence=Confidence.INFERRED,
            labels=(that_trains(context, turns), *also_waiting(context, steps)),
            by_request=isinstance(turns, FUNCTIONS)
            and count == 1
            and not _is_handed_back(context, call)
            and not reads_one_number(context, call),
        )


def _is_handed_back(context: Context, copy: ast.Call) -> bool:
    """`return {"loss": loss.cpu().numpy()}`: who gets it may keep it on the device."""
    node = whole(context, copy)
    parent = context.index.parents[node]
    uses: list[ast.expr] = [node]
    if isinstance(parent, ast.Assign) and parent.value is node:
        uses = list(uses_of(context, parent))
    return bool(uses) and all(_is_returned(context, use) for use in uses)


def _is_returned(context: Context, node: ast.AST) -> bool:
    parent = context.index.parents[node]
    while isinstance(parent, ast.Dict | ast.Tuple | ast.List):
        node, parent = parent, context.index.parents[parent]
    return isinstance(parent, ast.Return)


def _copies(context: Context) -> Iterator[Step]:
    for call in _that_copy(context):
        assert isinstance(call.func, ast.Attribute)
        tensor = call.func.value
        if call.func.attr == "numpy" and context.values.of(tensor).devices is None:
            continue  # On a device this raises: it is for what is on the host.
        turns = training_on_device(context, call)
        if isinstance(turns, FUNCTIONS) and parameters_given(context, turns):
            if not is_small(context, tensor):
                continue  # Who calls it has it draw, save or score what comes to the host.
        if turns is None or is_asked_for(context, call):
            continue
        known = is_device_tensor(context, tensor) or _copied_for_numpy(context, call)
        if known or (call.func.attr == "cpu" and is_made_of_handed(context, tensor)):
            if not is_fed_back(context, call):
                yield Step(call, tensor, turns)


def _copied_for_numpy(context: Context, call: ast.Call) -> bool:
    """`x.cpu().numpy()`: whatever it comes from, this is a tensor, and who copies it first knows
    that it is on a device."""
    assert isinstance(call.func, ast.Attribute)
    attribute = context.index.parents[call]
    if isinstance(attribute, ast.Attribute) and attribute.attr in ("data", "detach"):
        after = context.index.parents[attribute]  # `x.cpu().data.numpy()`
        attribute = context.index.parents[after] if isinstance(after, ast.Call) else after
    if call.func.attr != "cpu" or not isinstance(attribute, ast.Attribute):
        return False
    if attribute.attr not in ("numpy", "tolist") or context.guards.has(call, "cpu"):
        return False
    value = context.values.of(call.func.value)
    if value.kind is not Kind.UNKNOWN or not context.placement.program_uses_devices:
        return False
    return value.devices is None


def _copied_by_who_knows(context: Context, call: ast.Call) -> bool:
    """`scores.cpu()` of something out of sight: nobody copies to the host what lies there."""
    assert isinstance(call.func, ast.Attribute)
    if call.func.attr != "cpu" or context.guards.has(call, "cpu"):
        return False
    value = context.values.of(call.func.value)
    unknown = value.kind in (Kind.UNKNOWN, Kind.TENSOR) and value.devices is None
    return unknown and context.placement.program_uses_devices


def _waits(call: ast.Call) -> bool:
    """Whether a call of one of these methods is a copy to the host that waits."""
    assert isinstance(call.func, ast.Attribute)
    if call.func.attr == "to" and not is_host_copy(call):
        return False
    flag = keyword(call, "non_blocking")
    return not (isinstance(flag, ast.Constant) and flag.value is True)
