"""`.cpu()`, `.tolist()` or `.numpy()` at every step of a training loop waits each time.

## What it does
Flags copies of a device tensor to the host at every step of a loop that trains. What is copied
for NumPy or a list (`x.cpu().numpy()`) is a tensor wherever it comes from, and on a device, in a
program that uses one.

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
Copies under a test of the step, the rank or a verbosity switch, after the loop, or in evaluation
loops; what goes to the next `step(...)` of an environment, where it comes from out of sight;
`.to("cpu", non_blocking=True)`; modules and state dicts (checkpoints); tensors known to be
on the CPU; loops that wait on purpose at every step.

## References
- `aten/src/ATen/native/mps/operations/Copy.mm`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.model import Confidence, Finding, Severity
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.placement import has_host_copy, is_host_copy
from mpslint.semantics.purpose import in_cpu_arm
from mpslint.semantics.steps import (
    TRAINING_WORDS,
    Step,
    also_waiting,
    at_each,
    first_of_runs,
    is_device_tensor,
    most_in_one_turn,
    that_trains,
    training,
    trains_on_device,
)
from mpslint.semantics.value import Kind
from mpslint.semantics.value_syntax import keyword

_METHODS = ("cpu", "to", "tolist", "numpy")


@rule(
    "MPS304",
    "host-copy-in-loop",
    severity=Severity.SLOW,
    triggers=(b".cpu(", b".to(", b".tolist(", b".numpy("),
    also=TRAINING_WORDS,
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    if not trains_on_device(context):
        return
    for steps in first_of_runs(context, list(_copies(context))):
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
        )


def _copies(context: Context) -> Iterator[Step]:
    for method in _METHODS:
        for call in context.index.calls.get(method, ()):
            if not isinstance(call.func, ast.Attribute) or in_cpu_arm(context, call):
                continue
            if not _waits(call):
                continue
            tensor = call.func.value
            if has_host_copy(tensor):
                continue
            turns = training(context, call)
            if turns is not None and (
                is_device_tensor(context, tensor) or _copied_for_numpy(context, call)
            ):
                yield Step(call, tensor, turns)


def _copied_for_numpy(context: Context, call: ast.Call) -> bool:
    """`x.cpu().numpy()`: whatever it comes from, this is a tensor, and who copies it first knows
    that it is on a device. What the next step of an environment asks for cannot wait."""
    assert isinstance(call.func, ast.Attribute)
    attribute = context.index.parents[call]
    if call.func.attr != "cpu" or not isinstance(attribute, ast.Attribute):
        return False
    if attribute.attr not in ("numpy", "tolist") or context.guards.has(call, "cpu"):
        return False
    value = context.values.of(call.func.value)
    if value.kind is not Kind.UNKNOWN or not context.placement.file_uses_devices:
        return False
    return value.devices is None and not _is_asked_for(context, call)


def _is_asked_for(context: Context, call: ast.Call) -> bool:
    """Whether the copy, or the name that it is given, goes to a `step` or into what chooses."""
    statement = context.index.statement(call)
    names = {
        target.id
        for target in (statement.targets if isinstance(statement, ast.Assign) else ())
        if isinstance(target, ast.Name)
    }
    return any(
        context.index.within(call, given) or (isinstance(given, ast.Name) and given.id in names)
        for step in context.index.calls.get("step", ())
        for given in step.args
    )


def _waits(call: ast.Call) -> bool:
    """Whether a call of one of these methods is a copy to the host that waits."""
    assert isinstance(call.func, ast.Attribute)
    if call.func.attr == "to" and not is_host_copy(call):
        return False
    flag = keyword(call, "non_blocking")
    return not (isinstance(flag, ast.Constant) and flag.value is True)
