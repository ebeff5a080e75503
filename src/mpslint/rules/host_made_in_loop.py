"""A tensor of zeros, ones or indices is made on the CPU and copied in each forward pass or step.

## What it does
Flags `.to(device)`, `.to(x)`, `.type_as(x)` and `y.copy_(...)` of what a factory fills from sizes
alone (`torch.zeros(n).to(x.device)`, `torch.arange(n)[None].to(x)`, `torch.LongTensor(range(n))`,
also by a name that nothing else reads, with numbers added, or by way of `torch.exp` and its like)
in the `forward` of a module and in what that calls in the project, at every step of a loop that
trains, and in functions that reckon a loss of what they are given (`return F.cross_entropy(scores,
own)`). So is `torch.tensor(...)` of numbers that are written out, in a forward pass also with
`device=`, and there of one that is reckoned with sizes (`torch.sqrt(torch.tensor(x.shape[-1],
device=x.device))`); and an index that is an array of NumPy's or a tensor on the CPU, where what it
picks from lies on a device (`self.states[np.random.randint(0, n, size)]`,
`states[order[start:end]]`), in a function that a step calls as well; in a forward pass also of what
is passed on (`x[torch.arange(x.shape[0]), last]`). So is `self.mean.to(x.device)` in every forward
pass of a module that keeps `mean` as a plain attribute of the object or of its class on the CPU, or
`MEAN` as a constant of the file. Several of them with no device work between them are reported
once, at the first, with the places of the others.

## Why is this bad?
The copy from the CPU waits until all that was queued for the device is done, and the device then
idles until Python has queued more. `device=` has the device fill the tensor itself, but for
`torch.tensor`, which makes it on the CPU first.

## Example
```python
def forward(self, x):
    return self.embedding(torch.arange(x.size(1)).to(x.device))
```
Use instead:
```python
def forward(self, x):
    return self.embedding(torch.arange(x.size(1), device=x.device))
```

## What is not flagged
What the object keeps (`self.mask = ...`, buffers, tables), unless it works on it at each call
(`self.places = self.embed(torch.ones(n).to(x))`), and what is done only where it is not kept yet
(`if self.mask is not None: return`); the arm for another type than a parameter has by default
(`offset=0`, `if isinstance(offset, int): ... else: ...`); copies with `non_blocking=True`; random
numbers of a generator; tensors made of data (`torch.tensor(lengths)`, `torch.from_numpy(x)`), of a
number that a caller hands over, or that processes add up (`dist.all_reduce(n)`); arms
for predictions or exports alone; what runs rarely, under a test of the step, or where an argument
is left out; a constant that comes out where another arm computes; tests; tensors without an element
(`torch.zeros(0)`); a device that is the CPU off CUDA (`x.device if x.is_cuda else "cpu"`);
`.cuda()`, which has a rule of its own.

## Fix safety
Unsafe: `device=` in the factory instead of the copy; not for random numbers, which would be others,
nor for what a name holds.

## References
- https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html ("Create tensors directly on
  the target device")
- `aten/src/ATen/native/mps/operations/Copy.mm` (`copy_to_mps_`)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.facts.priors import names_device
from mpslint.model import Applicability, Confidence, Finding, Fix, Severity
from mpslint.patterns.arguments import add_argument
from mpslint.patterns.text import replace_span
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.purpose.test_code import only_tests_run
from mpslint.semantics.reads.host_factories import FILLED, is_written_out
from mpslint.semantics.reads.host_indices import WORDS, host_indices
from mpslint.semantics.reads.host_made import Move, constants, kept_on_host, moves
from mpslint.semantics.steps.step_runs import first_of_runs
from mpslint.semantics.steps.steps import Step, also_waiting, at_each, training
from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.terms.value import Kind

_IN_PLACE = {
    "randn": "normal_()",
    "rand": "uniform_()",
    "zeros": "zero_()",
    "ones": "fill_(1)",
}
"""What fills the tensor that is there, instead of another one that is copied into it."""
_OF_VALUES = ("tensor", "as_tensor")


@rule(
    "MPS310",
    "host-made-in-loop",
    severity=Severity.SLOW,
    triggers=(b".to(", b".type_as(", b".copy_(", b"tensor(", *(word.encode() for word in WORDS)),
    also=((b"def ", b"backward", b".step"),),
    fix=Applicability.UNSAFE,
    unfixed="how it is made leaves no place for the device, or what else uses it is not seen",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    found: dict[ast.expr, tuple[Move, Step]] = {}
    for move in moves(context):
        function = context.passes.around(move.call)
        turns = function if function is not None else training(context, move.call)
        if turns is not None and not only_tests_run(context, move.call):
            found[move.call] = move, Step(move.call, move.call, turns)
    for move in constants(context):
        function = context.passes.around(move.call)
        if function is not None and not only_tests_run(context, move.call):
            found[move.call] = move, Step(move.call, move.call, function)
    yield from _indices(context, rule)
    yield from _kept(context, rule)
    for steps in first_of_runs(context, [step for _, step in found.values()]):
        move, step = found[steps[0].node]
        in_forward = isinstance(step.turns, FUNCTIONS) and context.passes.around(move.call)
        when = "in every forward pass" if in_forward else at_each(context, step.turns)
        fixable = not move.drawn and _is_plain(context, move)
        start, end = context.name_token(move.call.func)  # type: ignore[arg-type]
        yield context.finding_at(
            rule,
            start,
            end,
            f"made on the CPU and copied, which waits for the device, {when}:"
            f" {_remedy(context, move)}",
            confidence=Confidence.INFERRED,
            labels=(
                context.label(step.turns, "this runs again and again"),
                *also_waiting(context, steps),
            ),
            applicability=Applicability.UNSAFE if fixable else None,
            fix=partial(_fix, context, move) if fixable else None,
        )


def _indices(context: Context, rule: Rule) -> Iterator[Finding]:
    """Indices that are copied, one for each run of them."""
    picked = [step for step in host_indices(context) if not only_tests_run(context, step.node)]
    for steps in first_of_runs(context, picked):
        node, _, turns = steps[0]
        in_forward = isinstance(turns, FUNCTIONS) and context.passes.around(node)
        when = "in every forward pass" if in_forward else at_each(context, turns)
        yield context.finding(
            rule,
            node.slice,  # type: ignore[attr-defined]
            f"this index is on the CPU and is copied, which waits for the device, {when}: make it"
            " there, or copy it once",
            confidence=Confidence.INFERRED,
            labels=(
                context.label(turns, "this runs again and again"),
                *also_waiting(context, steps),
            ),
        )


def _kept(context: Context, rule: Rule) -> Iterator[Finding]:
    """Plain attributes of a module that each forward pass copies, one for each run of them."""
    copied = [
        Step(call, call, function)
        for call in kept_on_host(context)
        if not only_tests_run(context, call)
        and (function := context.passes.around(call)) is not None
    ]
    for steps in first_of_runs(context, copied):
        call, _, turns = steps[0]
        start, end = context.name_token(call.func)  # type: ignore[attr-defined]
        yield context.finding_at(
            rule,
            start,
            end,
            "kept on the CPU and copied, which waits for the device, in every forward pass: a"
            " buffer would be there",
            confidence=Confidence.INFERRED,
            labels=(
                context.label(turns, "this runs again and again"),
                *also_waiting(context, steps),
            ),
        )


def _numbers(node: ast.expr) -> Iterator[ast.expr]:
    """The numbers of a list that is written out."""
    if isinstance(node, ast.List | ast.Tuple):
        for item in node.elts:
            yield from _numbers(item)
    else:
        yield node


def _remedy(context: Context, move: Move) -> str:
    """What does without the copy: the factory itself on the device, unless it copies a list."""
    name = context.values.last_name(move.factory.func) or ""
    if isinstance(move.call.func, ast.Attribute) and move.call.func.attr == "copy_":
        if move.factory in move.call.args and name in _IN_PLACE:
            return f"`{_IN_PLACE[name]}` can fill it there"
    if (
        name in _OF_VALUES
        and move.call is move.factory
        and not is_written_out(move.factory.args[0])
    ):
        return "`torch.full` can fill it there"
    if name in _OF_VALUES and is_written_out(move.factory.args[0]):
        numbers = {ast.unparse(item) for item in _numbers(move.factory.args[0])}
        if len(numbers) > 1:
            return "a buffer would be there"
        return "`torch.full` can fill it there"
    filler = f"`torch.{name}`" if name in FILLED else "`torch.arange` and its like"
    return f"{filler} can fill it there"


def _is_plain(context: Context, move: Move) -> bool:
    """`torch.zeros(n).to(device)`, with nothing but a device, and the factory in the chain."""
    if not isinstance(move.call.func, ast.Attribute) or move.call.func.attr != "to":
        return False
    given = [*move.call.args, *(item.value for item in move.call.keywords if item.arg == "device")]
    factory = (context.resolve(move.factory.func) or "").removeprefix("torch.")
    made = [
        item
        for item in ast.walk(move.call.func.value)
        if isinstance(item, ast.Call) and (context.resolve(item.func) or "").startswith("torch.")
    ]
    return (
        made == [move.factory]
        and len(given) == 1 == len(move.call.args) + len(move.call.keywords)
        and factory.islower()
        and factory not in ("from_numpy", "tensor", "as_tensor")
        and _is_device(context, given[0])
        and context.index.within(move.factory, move.call)
    )


def _is_device(context: Context, place: ast.expr) -> bool:
    """Whether `.to(place)` names the device, rather than a tensor that is there."""
    kind = context.values.of(place).kind
    return kind in (Kind.DEVICE, Kind.DEVICE_STRING) or (
        kind is Kind.UNKNOWN and names_device(last_name(place) or "")
    )


def _fix(context: Context, move: Move) -> Fix | None:
    assert isinstance(move.call.func, ast.Attribute)
    source = context.source
    end_of_made = source.span(move.call.func.value)[1]
    end = source.span(move.call)[1]
    if not source.text[end_of_made:end].lstrip().startswith("."):
        return None  # In parentheses.
    place = [*move.call.args, *(item.value for item in move.call.keywords)][0]
    made = add_argument(source, move.factory, f"device={source.segment(place)}")
    if made is None:
        return None
    copied = replace_span(source, end_of_made, end, "")
    return Fix("Fill it on the device", (made, copied), Applicability.UNSAFE)
