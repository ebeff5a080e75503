"""A non-blocking copy to the CPU is read before it has arrived.

## What it does
Flags `.to("cpu", non_blocking=True)`, and a non-blocking `copy_` into a tensor of the CPU, whose
result is read in the same function before anything waits for the device.

## Why is this bad?
The call returns at once. What is read is whatever the memory held before, on CUDA as on MPS: a
wrong number without an error.

## Example
```python
host = x.to("cpu", non_blocking=True)
print(host.sum())
```
Use instead:
```python
host = x.to("cpu")
print(host.sum())
```

## What is not flagged
A `synchronize`, an event's or a stream's wait (on a Mac as well: not one for CUDA alone), or a
blocking copy between the copy and the first read; code that runs on CUDA only (it may use pinned
buffers and events); results that are only stored, sliced or returned.

## Fix safety
Safe: the same copy, which now waits for its data.

## References
- the PyTorch tutorial on pinned memory and `non_blocking`; Lightning#14368
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Confidence, Finding, Fix, Severity
from mpslint.patterns.arguments import drop_keyword
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.destinations.destinations import device_argument
from mpslint.semantics.syntax.expressions import keyword, root_name

_WAITS = ("synchronize", "wait", "wait_stream", "wait_event", "query", "join", "barrier")
_HOST_READS = ("cpu", "item", "tolist", "numpy", "to")
_STORING = ("append", "extend", "put", "add", "setdefault", "insert", "update")


@rule(
    "MPS406",
    "non-blocking-to-host",
    severity=Severity.IGNORES,
    triggers=(b"non_blocking",),
    fix=Applicability.SAFE,
    unfixed="where the copy is read was not understood",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for item in context.index.of(ast.keyword):
        if item.arg != "non_blocking" or not _is_true(item.value):
            continue
        call = context.index.parents[item]
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        if not _to_host(context, call, call.func) or not context.worlds.on_mps(call):
            continue
        read = _first_read(context, call, call.func)
        if read is None:
            continue
        yield context.finding(
            rule,
            item,
            f"the copy to the CPU is read at {context.line(read)} before it has arrived",
            confidence=Confidence.INFERRED,
            labels=(context.label(read, "read here, and nothing waits before"),),
            applicability=Applicability.SAFE,
            fix=partial(_fix, context, call),
        )


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _to_host(context: Context, call: ast.Call, function: ast.Attribute) -> bool:
    if function.attr == "to":
        device = device_argument(context, call)
        if device is None or context.values.of(device).devices != frozenset({"cpu"}):
            return False
        return not context.values.of(function.value).on_cpu
    if function.attr == "copy_" and call.args:
        source = context.values.of(call.args[0])
        return context.values.of(function.value).on_cpu and source.may_be_on_accelerator
    return False


def _first_read(context: Context, call: ast.Call, function: ast.Attribute) -> ast.expr | None:
    """The first expression that reads the copied data although nothing has waited for it."""
    parent = context.index.parents[call]
    if isinstance(parent, ast.Attribute) and function.attr == "to":
        return parent if parent.attr in ("numpy", "item", "tolist", "sum", "mean") else None
    target: ast.expr | None = None
    if function.attr == "copy_":
        target = function.value
    elif isinstance(parent, ast.Assign) and len(parent.targets) == 1:
        target = parent.targets[0]
    if not isinstance(target, ast.Name):
        return None
    scope = context.names.owner(target.id, target)
    reads = [
        use
        for use in context.index.names.get(target.id, ())
        if isinstance(use.ctx, ast.Load)
        and _place(use) > _place(call)
        and context.names.owner(use.id, use) is scope
        and _reads(context, use)
    ]
    if not reads:
        return None
    first = min(reads, key=_place)
    if any(_place(call) < _place(wait) <= _end(context, first) for wait in _waits(context, first)):
        return None
    return first if context.flow.reaching(first) and _still_bound(context, first, call) else None


def _place(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _end(context: Context, node: ast.expr) -> tuple[int, int]:
    """Where the statement of a read ends: a wait among its arguments comes before the read."""
    statement = context.index.statement(node)
    return statement.end_lineno or statement.lineno, statement.end_col_offset or 0


def _waits(context: Context, read: ast.Name) -> Iterator[ast.Call]:
    """Calls that wait for the device: synchronisations, and host reads of something else."""
    for name in _WAITS:
        for call in context.index.calls.get(name, ()):
            if context.worlds.on_mps(call):  # Nobody waits on a Mac for what is done on CUDA alone.
                yield call
    for name in _HOST_READS:
        for call in context.index.calls.get(name, ()):
            if not isinstance(call.func, ast.Attribute) or _is_of(call.func.value, read.id):
                continue
            if name != "to" or _blocks(context, call):
                yield call


def _blocks(context: Context, call: ast.Call) -> bool:
    given = keyword(call, "non_blocking")
    device = device_argument(context, call)
    if device is None or (given is not None and _is_true(given)):
        return False
    return context.values.of(device).devices == frozenset({"cpu"})


def _is_of(node: ast.expr, name: str) -> bool:
    """Whether a chain starts at `name`, whose data is on the host already."""
    return root_name(node) == name


def _still_bound(context: Context, use: ast.Name, call: ast.Call) -> bool:
    """Whether the name still holds the copy at `use`."""
    if isinstance(call.func, ast.Attribute) and call.func.attr == "copy_":
        return True
    return any(binding.value is call for binding in context.flow.reaching(use))


def _reads(context: Context, use: ast.Name) -> bool:
    """Whether the data is looked at here, and not only stored, returned or asked for its shape."""
    parent = context.index.parents[use]
    if isinstance(parent, ast.Attribute):
        call = context.index.parents[parent]
        return isinstance(call, ast.Call) and call.func is parent and parent.attr != "size"
    if isinstance(parent, ast.Call):
        return context.values.last_name(parent.func) not in _STORING
    return isinstance(parent, ast.BinOp | ast.Compare | ast.FormattedValue)


def _fix(context: Context, call: ast.Call) -> Fix | None:
    edit = drop_keyword(context.source, call, "non_blocking")
    return Fix("Wait for the copy", (edit,), Applicability.SAFE) if edit is not None else None
