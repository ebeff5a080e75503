"""Functions of other files that read numbers of the tensors that they are given.

`acc += get_accuracy(scores, y)` waits at each step of its loop where the function ends in
`float(corr) / n`, and nothing in the file of the function says that it runs so often.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from mpslint.semantics.gathering import gathered
from mpslint.semantics.handed_back import comes_from_device_work
from mpslint.semantics.index import FunctionNode
from mpslint.semantics.placement import has_host_copy
from mpslint.semantics.steps import (
    Step,
    first_of_runs,
    is_device_tensor,
    training,
    trains_on_device,
)
from mpslint.semantics.test_code import only_tests_run
from mpslint.semantics.value import Kind

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_READS = ("item", "float", "int")
_WORDS = (b".item()", b"float(", b"int(")
_NAMES_FOLLOWED = 4
"""`scores = scores > t`, `hits = (scores == y) + 1`, `total = hits.sum()`, and the read."""
_KNOWN = "reading-callees"


class ReadingCall(NamedTuple):
    step: Step
    function: FunctionNode
    """What is called, in another file."""


def calls_that_read(context: Context, told: set[int]) -> Iterator[list[ReadingCall]]:
    """Runs of such calls at each step of training, or in evaluations that only gather what comes
    back, but for those in lines that are told already."""
    if not (trains_on_device(context) or context.placement.program_uses_devices):
        return
    found: dict[ast.expr, FunctionNode] = {}
    trained: list[Step] = []
    evaluated: list[Step] = []
    for call in context.index.of(ast.Call):
        if call.lineno in told or not call.args or context.loops.innermost(call) is None:
            continue
        function = reads_what_it_is_given(context, call)
        if function is None or only_tests_run(context, call):
            continue
        turns = training(context, call)
        if turns is not None:
            trained.append(Step(call, call, turns))
        elif (loop := gathered(context, call, call)) is not None:
            evaluated.append(Step(call, call, loop))
        found[call] = function
    for steps in (trained, evaluated):
        for run in first_of_runs(context, steps):
            yield [ReadingCall(step, found[step.node]) for step in run]


def reads_what_it_is_given(context: Context, call: ast.Call) -> FunctionNode | None:
    """The function of another file of the project that `call` runs, where it reads a number of what
    is a tensor of a device here."""
    if not isinstance(call.func, ast.Name | ast.Attribute):
        return None
    names = list(_qualified(context, call.func))
    if not names or not any(_is_on_device(context, item) for item in call.args):
        return None
    known: dict[str, tuple[FunctionNode, frozenset[str]] | None]
    known = context.memo.setdefault(_KNOWN, {})  # type: ignore[assignment]
    for name in names:
        if name not in known:
            known[name] = _summary(context, name)
        if known[name] is not None:
            found = known[name]
            break
    else:
        return None
    assert found is not None
    function, read = found
    for parameter, item in zip(function.args.args, call.args, strict=False):
        if isinstance(item, ast.Starred):
            return None
        if parameter.arg in read and _is_on_device(context, item):
            return function
    return None


def _qualified(context: Context, function: ast.Name | ast.Attribute) -> Iterator[str]:
    """The names that a function may have in the project: that of its import, or that of all that a
    module defines."""
    name = context.resolve(function)
    if name is not None:
        if "." in name and not name.startswith(("torch.", "numpy.")):
            yield name
    elif isinstance(function, ast.Name) and context.names.owner(function.id, function) is None:
        for everything in context.names.module.bindings.get("*", ()):
            if everything.qualified is not None and not everything.qualified.startswith("torch."):
                yield everything.qualified.removesuffix("*") + function.id


def _is_on_device(context: Context, node: ast.expr) -> bool:
    if isinstance(node, ast.Constant) or has_host_copy(node):
        return False
    if is_device_tensor(context, node):
        return True
    value = context.values.of(node)
    if value.kind is Kind.TENSOR and context.placement.on_accelerator(node):
        return True
    return (
        value.kind is Kind.UNKNOWN
        and isinstance(node, ast.Name)
        and comes_from_device_work(context, node)
    )


def _summary(context: Context, name: str) -> tuple[FunctionNode, frozenset[str]] | None:
    """The function that defines `name`, and the parameters of which each of its calls reads a
    number."""
    found = context.definition_elsewhere(name, _WORDS)
    if found is None or len(found.bindings) != 1:
        return None
    function = found.bindings[0].node
    if not isinstance(function, ast.FunctionDef):
        return None
    if not isinstance(found.context.index.parents[function], ast.Module):
        return None
    read = frozenset(_parameters_read(found.context, function))
    return (function, read) if read else None


def _parameters_read(context: Context, function: FunctionNode) -> Iterator[str]:
    own = {item.arg for item in (*function.args.posonlyargs, *function.args.args)}
    for word in _READS:
        for call in context.index.calls.get(word, ()):
            if context.index.function(call) is not function:
                continue
            tensor = _read(call, word)
            if tensor is None or has_host_copy(tensor):
                continue
            value = context.values.of(tensor)
            if word != "item" and (value.kind is not Kind.TENSOR or value.on_cpu):
                continue
            if context.loops.every_step(call, function):
                yield from own & set(_origins(context, tensor, _NAMES_FOLLOWED))


def _read(call: ast.Call, word: str) -> ast.expr | None:
    if word == "item":
        return call.func.value if isinstance(call.func, ast.Attribute) else None
    return call.args[0] if isinstance(call.func, ast.Name) and len(call.args) == 1 else None


def _origins(context: Context, node: ast.expr, names: int) -> Iterator[str]:
    """The parameters of its function that a tensor is made of."""
    for name in ast.walk(node):
        if not isinstance(name, ast.Name) or not isinstance(name.ctx, ast.Load):
            continue
        parent = context.index.parents[name]
        if isinstance(parent, ast.Attribute) and parent.attr in ("shape", "device", "dtype"):
            continue
        for binding in context.flow.reaching(name):
            if binding.kind == "parameter":
                yield name.id
            elif names and binding.kind == "assign" and binding.value is not None:
                if not has_host_copy(binding.value):
                    yield from _origins(context, binding.value, names - 1)
