"""Printing or logging a tensor at every step of a training loop reads it back each time.

## What it does
Flags tensors on a device that go as they are into `print`, an f-string, `"..." % x`, `str(x)`, a
logger, a progress bar's `set_postfix`, a writer's `add_scalar` or `wandb.log({...})` at every step
of a loop that trains, also in a function of the module that such a step in another file gives
tensors of a device; so are parts of the loss that something out of sight makes of such tensors.

## Why is this bad?
The text needs the value, so Python waits for the device, as with `.item()`, only that nobody sees
it. An n-dimensional tensor is copied to the host as a whole.

## Example
```python
print(f"loss {loss:.4f}")
```
Use instead:
```python
if step % 50 == 0:
    print(f"loss {loss.item():.4f}")
```

## What is not flagged
What runs under a test of the step, the rank or a verbosity switch, after the loop, or in loops that
evaluate batches, or of a value of the tensor itself (`if x.max() > 1: print(x.max())`: the test
waits, and what is shown is rare); loops over an option of the program that is 1 by default;
`.shape`, `.dtype`, `.device` (no read); values that were read before (`.item()`, which has a rule
of its own); loggers' arguments that are formatted only when the level is on.

## Told when asked for
Where somebody asks for the rule (`extend-select = ["MPS305"]`), also what is shown at every turn of
a loop that calls a model a number of times, such as a sampler
(`bar.set_description(f"noise {sigmas[i]:.2f}")`), where the text is made even if no bar is shown:
of 4 on code that nobody had looked at, readers called none right.

## References
- `torch/_tensor_str.py`, `Tensor.__format__`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.model import Confidence, Finding, Severity
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.purpose.test_code import only_tests_run
from mpslint.semantics.steps.generating import generating, lies_on_device
from mpslint.semantics.steps.handed_back import is_summed_loss
from mpslint.semantics.steps.handed_tensors import is_handed
from mpslint.semantics.steps.step_runs import first_of_runs
from mpslint.semantics.steps.steps import (
    TRAINING_WORDS,
    Step,
    also_waiting,
    at_each,
    is_device_tensor,
    that_trains,
    training_on_device,
    trains_on_device,
)
from mpslint.semantics.syntax.expressions import names_in

_SINKS = (
    "print",
    "set_postfix",
    "set_description",
    "add_scalar",
    "add_scalars",
    "write",
    "log_metric",
    "log_metrics",
)

_LOGS = ("wandb.log",)
"""Fact: it makes numbers of the tensors that it is given (`wandb/util.py`, `json_friendly`)."""
_TEXTS = ("str", "repr", "format")
"""Python's own, which make a text of what they are given."""


@rule(
    "MPS305",
    "print-tensor-in-loop",
    severity=Severity.SLOW,
    triggers=(
        b"print",
        b'f"',
        b"f'",
        b"set_postfix",
        b"add_scalar",
        b"wandb",
        b"str(",
        b"repr(",
        b"format(",
    ),
    also=((*TRAINING_WORDS[0], b"def ", b"for ", b"while "),),
    partly=True,
    unfixed="how often it should be shown is for its author to say",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    shown = list(_shown(context))
    trained = [step for value in shown for step in _in_training(context, value)]
    for steps in first_of_runs(context, trained):
        node, _, turns = steps[0]
        yield context.finding(
            rule,
            node,
            f"reads the tensor back {at_each(context, turns)}",
            confidence=Confidence.INFERRED,
            labels=(that_trains(context, turns), *also_waiting(context, steps)),
        )
    told = {step.node for step in trained}
    generated = [
        Step(value, value, loop)
        for value in shown
        if value not in told
        and (loop := generating(context, value)) is not None
        and lies_on_device(context, value)
        and not only_tests_run(context, value)
    ]
    for steps in first_of_runs(context, generated):
        node, _, turns = steps[0]
        yield context.finding(
            rule,
            node,
            f"reads the tensor back at each turn of the loop at {context.line(turns)}, which calls"
            " a model each time",
            confidence=Confidence.INFERRED,
            labels=(
                context.label(turns, "this runs again and again"),
                *also_waiting(context, steps),
            ),
            by_request=True,
        )


def _shown(context: Context) -> Iterator[ast.expr]:
    """What goes into a text."""
    for sink in _SINKS:
        for call in context.index.calls.get(sink, ()):
            for given in (*call.args, *(k.value for k in call.keywords)):
                yield from given.values if isinstance(given, ast.Dict) else [given]
    for call in context.calls_of(*_LOGS):
        if call.args and isinstance(call.args[0], ast.Dict):
            yield from call.args[0].values
    for name in _TEXTS:
        for call in context.index.calls.get(name, ()):
            if isinstance(call.func, ast.Name) and context.names.owner(name, call.func) is None:
                yield from call.args[:1]
    for formatted in context.index.of(ast.FormattedValue):
        yield formatted.value
    for call in context.index.calls.get("format", ()):
        if isinstance(call.func, ast.Attribute):
            yield from call.args
    for operation in context.index.of(ast.BinOp):
        if isinstance(operation.op, ast.Mod) and _is_text(operation.left):
            right = operation.right
            yield from right.elts if isinstance(right, ast.Tuple) else [right]


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _in_training(context: Context, value: ast.expr) -> Iterator[Step]:
    if isinstance(value, ast.Constant | ast.JoinedStr) or not trains_on_device(context):
        return
    # What is no tensor is seen in the file itself, which costs less than to ask who trains.
    is_read = (
        is_device_tensor(context, value)
        or is_handed(context, value)
        or is_summed_loss(context, value)
    )
    turns = training_on_device(context, value) if is_read else None
    if turns is None:
        return
    if not _is_behind_own_test(context, value, turns):
        yield Step(value, value, turns)


def _is_behind_own_test(context: Context, value: ast.expr, turns: ast.AST) -> bool:
    """`if x.max() > 1: print(x.max())`: the test waits at each step, and who shows what it finds
    shows it where something is wrong."""
    names = names_in(value)
    child: ast.AST = value
    for parent in context.index.ancestors(value):
        if parent is turns:
            return False
        if isinstance(parent, ast.If) and child in parent.body:
            for side in _compared(parent.test):
                named = names_in(side)
                if named & names and is_device_tensor(context, side):
                    return True
        child = parent
    return False


def _compared(test: ast.expr) -> list[ast.expr]:
    """The parts of a test that have a truth, or are compared, of their own."""
    if isinstance(test, ast.BoolOp):
        return [side for value in test.values for side in _compared(value)]
    if isinstance(test, ast.UnaryOp):
        return _compared(test.operand)
    return [test.left, *test.comparators] if isinstance(test, ast.Compare) else [test]
