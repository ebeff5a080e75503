"""The model is on a device, this batch is not.

## What it does
Flags arguments of a model that was moved to a device, in a loop over a `DataLoader`, that come out
of the loader as they are: nothing between the loop's head and the call moves them.

## Why is this bad?
Loaders give tensors on the CPU. A model whose weights are elsewhere raises at its first operation:
`Expected all tensors to be on the same device`, on MPS also
`Placeholder storage has not been allocated on MPS device!`.

## Why is it opt-in?
Whether a batch is on the CPU hangs on the data set, which another file or another cell may have
made of tensors that are on the device. On code that nobody had looked at its findings were wrong.

## Example
```python
model.to(device)
for x, y in DataLoader(data):
    output = model(x)
```
Use instead:
```python
for x, y in DataLoader(data):
    x, y = x.to(device), y.to(device)
    output = model(x)
```

## What is not flagged
Loaders over a `TensorDataset` of which a tensor is not known to be on the CPU: its batches are
where its tensors are.
Batches that anything in the loop moves or hands to a function; loaders with a `collate_fn`, and
other iterables than `DataLoader`; files that use accelerate, Lightning, ignite, a Trainer,
`DataParallel` (they move batches themselves), `set_default_device` or a device map; models of this
file that move their input in `forward`.

## Fix safety
Unsafe: a statement at the head of the loop moves the names to the device at hand.

## References
- pytorch/pytorch#130790 (the placeholder message), `torch.utils.data.DataLoader`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Confidence, Finding, Fix, Severity
from mpslint.patterns.insertion import insert_before
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.loops.batches import Batch
from mpslint.semantics.terms.value import CPU_ONLY, Kind

_MOVERS = (
    "accelerate",
    "pytorch_lightning",
    "lightning",
    "ignite",
    "fastai",
    "deepspeed",
    "skorch",
)
_MOVING_CALLS = (
    "Trainer",
    "DataParallel",
    "DistributedDataParallel",
    "set_default_device",
    "set_default_tensor_type",
    "prepare",
    "MpDeviceLoader",
)


@rule(
    "MPS801",
    "batch-not-moved",
    severity=Severity.BREAKS,
    triggers=(b"DataLoader",),
    default=False,
    fix=Applicability.UNSAFE,
    unfixed="no device is at hand here, or the names of the batch were not understood",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    if not _may_matter(context):
        return
    for batch in context.batches.all:
        if not _plain_loader(context, batch):
            continue
        for call in _model_calls(context, batch):
            names = [n for n in _unmoved(call, batch) if _as_bound(context, n, batch, call)]
            if not names:
                continue
            yield context.finding(
                rule,
                names[0],
                f"raises: `{names[0].id}` is on the CPU as the loader gives it, the model is not",
                confidence=Confidence.INFERRED,
                labels=(context.label(batch.loop, "nothing in this loop moves it"),),
                applicability=Applicability.UNSAFE,
                fix=partial(_fix, context, batch, call),
            )
            break


def _may_matter(context: Context) -> bool:
    if any(context.index.calls.get(name) for name in _MOVING_CALLS):
        return False
    if any(keyword.arg == "device_map" for keyword in context.index.of(ast.keyword)):
        return False
    return not any(context.names.imports(package) for package in _MOVERS)


def _plain_loader(context: Context, batch: Batch) -> bool:
    """A `DataLoader` of this file without a collate function that could move."""
    if context.values.of(batch.source).kind is not Kind.STREAMED or _of_tensors(context):
        return False
    return not any(
        keyword.arg == "collate_fn"
        for call in context.calls_of("torch.utils.data.DataLoader")
        for keyword in call.keywords
    )


def _of_tensors(context: Context) -> bool:
    """Whether the file makes a data set of tensors of which some may be on the device."""
    return any(
        context.values.of(tensor.value if isinstance(tensor, ast.Starred) else tensor).devices
        != CPU_ONLY
        for call in context.calls_of("torch.utils.data.TensorDataset")
        for tensor in call.args
    )


def _model_calls(context: Context, batch: Batch) -> Iterator[ast.Call]:
    """Calls in the loop of models that live on a device."""
    for node in context.index.of(ast.Call):
        if node.lineno < batch.loop.lineno or not context.index.within(node, batch.loop):
            continue
        model = context.values.of(node.func)
        if model.kind is not Kind.MODULE or model.devices is None:
            continue
        if context.placement.on_accelerator(node.func) and not _moves_its_input(context):
            yield node


def _moves_its_input(context: Context) -> bool:
    """Whether some `forward` of this file moves things."""
    for function in context.index.of(ast.FunctionDef):
        if function.name != "forward":
            continue
        for method in ("to", "cuda"):
            for call in context.index.calls.get(method, ()):
                if context.index.within(call, function):
                    return True
    return False


def _unmoved(call: ast.Call, batch: Batch) -> Iterator[ast.Name]:
    wanted = {*batch.parts, batch.whole}
    for argument in (*call.args, *(k.value for k in call.keywords)):
        node = argument.value if isinstance(argument, ast.Starred | ast.Subscript) else argument
        if isinstance(node, ast.Name) and node.id in wanted:
            yield node


def _as_bound(context: Context, name: ast.Name, batch: Batch, call: ast.Call) -> bool:
    """Whether `name` is what the loop bound, untouched by anything that could move it."""
    if [b.node for b in context.flow.reaching(name)] != [batch.loop]:
        return False
    for use in context.index.names.get(name.id, ()):
        if use is name or not context.index.within(use, batch.loop) or use.lineno > call.lineno:
            continue
        if _may_move(context, use, call):
            return False
    return True


def _may_move(context: Context, use: ast.Name, model_call: ast.Call) -> bool:
    """Whether a use of the batch before the call hands it to somebody, or moves it in place."""
    if isinstance(use.ctx, ast.Store):
        return False
    parent = context.index.parents[use]
    if isinstance(parent, ast.Attribute):
        return parent.attr in ("to", "cuda", "items", "keys", "values", "__dict__")
    if isinstance(parent, ast.Subscript):
        return not isinstance(parent.ctx, ast.Load)
    if isinstance(parent, ast.Call) and parent is not model_call:
        last = context.values.last_name(parent.func)
        return last not in ("len", "print", "type", "isinstance", "range")
    return isinstance(parent, ast.For | ast.comprehension)


def _fix(context: Context, batch: Batch, call: ast.Call) -> Fix | None:
    names = list(batch.parts)
    device = context.devices.at_hand(call)
    if not names or device is None or len(names) > 4:
        return None
    moved = ", ".join(f"{name}.to({device.text})" for name in names)
    line = f"{', '.join(names)} = {moved}"
    edit = insert_before(context, batch.loop.body[0], [line])
    return (
        None if edit is None else Fix("Move the batch to the device", (edit,), Applicability.UNSAFE)
    )
