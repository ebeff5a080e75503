"""A tensor of zeros, ones or indices is made on the CPU and copied in each forward pass or step.

## What it does
Flags `.to(device)` of what a factory fills from sizes alone (`torch.zeros(n).to(x.device)`,
`torch.arange(n).unsqueeze(0).to(device)`, `torch.LongTensor(range(n)).to(device)`, also by a name
that nothing else reads) in the `forward` of a module and in what that calls in the same file, and
at every step of a loop that trains. Several of them with no device work between them are reported
once, at the first, with the places of the others.

## Why is this bad?
The copy from the CPU waits until all that was queued for the device is done, and the device then
idles until Python has queued more. `device=` has the device fill the tensor itself.

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
What the object keeps (`self.mask = ...`, buffers, tables); copies with `non_blocking=True`; random
numbers of a generator; tensors made of data (`torch.tensor(lengths)`, `torch.from_numpy(x)`); arms
for predictions or exports alone; what runs rarely, under a test of the step, or where an argument
is left out; tests; tensors without an element (`torch.zeros(0)`); `.cuda()`, which has a rule of
its own.

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

from mpslint.model import Applicability, Confidence, Finding, Fix, Severity
from mpslint.patterns.arguments import add_argument
from mpslint.patterns.text import replace_span
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.host_made import FILLED, Move, moves
from mpslint.semantics.index import FUNCTIONS
from mpslint.semantics.steps import Step, also_waiting, at_each, first_of_runs, training
from mpslint.semantics.test_code import only_tests_run
from mpslint.semantics.value import Kind


@rule(
    "MPS310",
    "host-made-in-loop",
    severity=Severity.SLOW,
    triggers=(b".to(",),
    also=((b"def forward", b"backward", b".step"),),
    fix=Applicability.UNSAFE,
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    found: dict[ast.expr, tuple[Move, Step]] = {}
    for move in moves(context):
        function = context.passes.around(move.call)
        turns = function if function is not None else training(context, move.call)
        if turns is not None and not only_tests_run(context, move.call):
            found[move.call] = move, Step(move.call, move.call, turns)
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
            f" {_filler(context, move)} can fill it there",
            confidence=Confidence.INFERRED,
            labels=(
                context.label(step.turns, "this runs again and again"),
                *also_waiting(context, steps),
            ),
            applicability=Applicability.UNSAFE if fixable else None,
            fix=partial(_fix, context, move) if fixable else None,
        )


def _filler(context: Context, move: Move) -> str:
    """What can fill the tensor on the device: the factory itself, unless it copies a list."""
    name = context.values.last_name(move.factory.func) or ""
    return f"`torch.{name}`" if name in FILLED else "`torch.arange` and its like"


def _is_plain(context: Context, move: Move) -> bool:
    """`torch.zeros(n).to(device)`, with nothing but a device, and the factory in the chain."""
    given = [*move.call.args, *(item.value for item in move.call.keywords if item.arg == "device")]
    factory = (context.resolve(move.factory.func) or "").removeprefix("torch.")
    return (
        len(given) == 1 == len(move.call.args) + len(move.call.keywords)
        and factory.islower()
        and factory not in ("from_numpy", "tensor", "as_tensor")
        and context.values.of(given[0]).kind is not Kind.TENSOR
        and context.index.within(move.factory, move.call)
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
