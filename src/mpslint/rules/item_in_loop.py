"""`.item()` at every step of a training loop waits for the device each time.

## What it does
Flags `.item()` and `float(t)` of a tensor on a device at every step of a loop that trains: the
loss that is printed or summed up, an accuracy, a norm. Several reads with no device
work between them are reported once, at the first.

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
Reads under a test of the step (`if step % 50 == 0`, `if step == last`), of the rank or of a
verbosity switch, in an error path, behind `if step % n: continue`; after the loop; once per epoch;
in evaluation loops, where nothing is trained and results must be read at some time; tensors known
to be on the CPU and files that never use another device; values that are no tensors of torch
(NumPy scalars, pandas, dictionaries' `.items()`); loops that wait on purpose at every step
(`synchronize`).

## Fix safety
Unsafe: the sum is kept on the device in the tensor's precision instead of in a Python float.
Offered for a loss summed up into a name that is zero before the loop and not read in it.

## References
- `aten/src/ATen/native/Scalar.cpp` (`item`), `aten/src/ATen/native/mps/operations/Copy.mm`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from mpslint.model import Applicability, Confidence, Finding, Fix, Severity
from mpslint.patterns.insertion import insert_after
from mpslint.patterns.text import replace_span
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.loops import Loop, LoopKind
from mpslint.semantics.value import Kind


class _Read(NamedTuple):
    call: ast.Call
    tensor: ast.expr
    loop: Loop


@rule(
    "MPS303",
    "item-in-loop",
    severity=Severity.SLOW,
    triggers=(b".item(", b"float("),
    fix=Applicability.UNSAFE,
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    found = [read for read in _reads(context) if _is_slow(context, read)]
    found.sort(key=lambda read: (read.call.lineno, read.call.col_offset))
    for reads in _together(context, found):
        call, tensor, loop = reads[0]
        statement = context.index.statement(call)
        more = f" (the first of {len(reads)} reads)" if len(reads) > 1 else ""
        offer = len(reads) == 1 and _accumulates(context, statement, call, tensor, loop)
        start, end = context.name_token(call.func)  # type: ignore[arg-type]
        yield context.finding_at(
            rule,
            start,
            end,
            f"waits for the device at each step of the loop at line {loop.lineno}{more}",
            confidence=Confidence.INFERRED,
            labels=(context.label(loop, "this loop trains"),),
            applicability=Applicability.UNSAFE if offer else None,
            fix=partial(_fix, context, call, loop, statement) if offer else None,
        )


def _reads(context: Context) -> Iterator[_Read]:
    """Calls that read one number of a tensor at each turn of a loop."""
    for name in ("item", "float"):
        for call in context.index.calls.get(name, ()):
            loop = context.loops.innermost(call)
            if loop is None or call.keywords:
                continue
            if isinstance(call.func, ast.Attribute) and name == "item" and not call.args:
                yield _Read(call, call.func.value, loop)
            elif isinstance(call.func, ast.Name) and name == "float" and len(call.args) == 1:
                yield _Read(call, call.args[0], loop)


def _is_slow(context: Context, read: _Read) -> bool:
    loops = context.loops
    return (
        loops.kind(read.loop) is LoopKind.TRAIN
        and loops.every_step(read.call, read.loop)
        and _waits(context, read.tensor)
        and not loops.waits_anyway(read.loop)
    )


def _together(context: Context, reads: list[_Read]) -> Iterator[list[_Read]]:
    """Reads with no device work between them: only the first of these has to wait."""
    group: list[_Read] = []
    for read in reads:
        if group and not _follows(context, group[-1], read):
            yield group
            group = []
        group.append(read)
    if group:
        yield group


def _follows(context: Context, first: _Read, second: _Read) -> bool:
    index = context.index
    one, other = index.statement(first.call), index.statement(second.call)
    if one is other:
        return True
    block = index.block(one)
    if first.loop is not second.loop or not any(item is other for item in block):
        return False
    between = block[block.index(one) + 1 : block.index(other)]
    return not any(context.loops.works(item) for item in between)


def _waits(context: Context, tensor: ast.expr) -> bool:
    """Whether `tensor` is one that kernels of a device fill."""
    value = context.values.of(tensor)
    if value.kind is not Kind.TENSOR or not (value.computed or value.loss):
        return False
    if value.devices is None:
        return context.placement.file_uses_devices and not context.guards.has(tensor, "cpu")
    return context.placement.on_accelerator(tensor)


def _accumulates(
    context: Context, statement: ast.stmt, call: ast.Call, tensor: ast.expr, loop: Loop
) -> bool:
    """`total += loss.item()`, with `total = 0` before the loop and no other use inside it."""
    if not isinstance(statement, ast.AugAssign) or not isinstance(statement.op, ast.Add):
        return False
    target = statement.target
    if not isinstance(target, ast.Name) or not context.values.of(tensor).loss:
        return False
    if not isinstance(call.func, ast.Attribute) or not _is_product(statement.value, call):
        return False
    owner = context.names.owner(target.id, target)
    if owner is not context.names.scope_of(loop):
        return False
    for use in context.index.names.get(target.id, ()):
        if use is not target and context.index.within(use, loop):
            return False
    bindings = context.flow.reaching_name(target.id, loop)
    return bool(bindings) and all(
        isinstance(b.value, ast.Constant)
        and type(b.value.value) in (int, float)
        and b.value.value == 0
        and b.kind == "assign"
        for b in bindings
    )


def _is_product(node: ast.expr, call: ast.Call) -> bool:
    """Whether `node` is the call, or the call times or by something."""
    if node is call:
        return True
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
        return node.left is call or (isinstance(node.op, ast.Mult) and node.right is call)
    return False


def _fix(context: Context, call: ast.Call, loop: Loop, statement: ast.stmt) -> Fix | None:
    assert isinstance(statement, ast.AugAssign)
    assert isinstance(statement.target, ast.Name)
    name = statement.target.id
    read_after = insert_after(context, loop, [f"{name} = float({name})"])
    if read_after is None:
        return None
    start, _ = context.name_token(call.func)  # type: ignore[arg-type]
    kept = replace_span(context.source, start, context.source.span(call)[1], "detach()")
    return Fix(
        f"Sum up on the device and read `{name}` once after the loop",
        (kept, read_after),
        Applicability.UNSAFE,
    )
