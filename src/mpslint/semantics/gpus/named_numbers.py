"""The numbers of GPUs that what holds a device may name, other than the first of all."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.devices.gpu_numbers import type_given, written, written_out
from mpslint.semantics.gpus.whole_numbers import is_whole_number

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_DEPTH = 3


def numbers_named(context: Context, value: ast.expr, depth: int = _DEPTH) -> Iterator[str]:
    """The numbers as they are spelled, in what gives a device its value, and in what that names:
    a function of the file that makes the device, a name that holds the text."""
    for literal in written(context.index, context.names, value):
        if literal.backend == "cuda" and (literal.number is not None or literal.ordinal):
            given = literal.number
            yield ast.unparse(given) if given is not None else str(literal.ordinal)
    if depth <= 0:
        return
    for node in _giving(value):
        if isinstance(node, ast.Call):
            yield from _of_call(context, node, depth)
        elif isinstance(node, ast.Name):
            for binding in context.flow.reaching(node):
                if binding.kind == "assign" and binding.value is not None:
                    yield from numbers_named(context, binding.value, depth - 1)


def _giving(value: ast.expr) -> Iterator[ast.AST]:
    """The parts of a value, without what it is chosen by."""
    tests = {
        part for one in ast.walk(value) if isinstance(one, ast.IfExp) for part in ast.walk(one.test)
    }
    return (one for one in ast.walk(value) if one not in tests)


def _of_call(context: Context, call: ast.Call, depth: int) -> Iterator[str]:
    """The number alone of `torch.device(1)`, and that of the device which a function of the file
    returns: its own, or one that it is given."""
    if context.resolve(call.func) == "torch.device":
        alone = type_given(call)
        if alone is not None and (written_out(alone) or is_whole_number(context, alone)):
            if written_out(alone) != 0:
                yield ast.unparse(alone)
        return
    name = call.func.id if isinstance(call.func, ast.Name) else None
    own = (one for one in context.tree.body if isinstance(one, ast.FunctionDef))
    function = next((one for one in own if one.name == name), None)
    if function is None:
        return
    given = [*call.args, *(one.value for one in call.keywords)]
    taken = {one.arg for one in (*function.args.args, *function.args.kwonlyargs)}
    for node in context.index.returns(function):
        if node.value is None:
            continue
        for number in numbers_named(context, node.value, depth - 1):
            parts = ast.walk(ast.parse(number, mode="eval"))
            is_given = any(isinstance(one, ast.Name) and one.id in taken for one in parts)
            yield ast.unparse(given[0]) if is_given and len(given) == 1 else number
