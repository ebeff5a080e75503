"""Parts of batches that tensors are made of: one that NumPy has made is float64, and a list of
Python's numbers is not. Which it is, is not seen where somebody else has put the batch together.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Container, Iterator

from mpslint.facts.priors import names_device
from mpslint.halfway.unread_arrays import JOINING, NARROW, TENSORS, is_of_numpy
from mpslint.semantics.syntax.expressions import (
    arguments_for,
    keyword,
    last_name,
    root_name,
)
from mpslint.semantics.syntax.index import FUNCTIONS, walk
from mpslint.semantics.syntax.parameters import explicit_parameters

_ARRAYS = JOINING | {"array", "asarray", "ascontiguousarray"}
"""Functions of NumPy whose array is as wide as what they are given."""
_LIBRARIES = frozenset({"np", "numpy", "torch", "F", "nn"})
"""What these give is followed where it is read."""


def moved_parts(scope: ast.AST, defined: Collection[str]) -> Iterator[ast.Call]:
    """`torch.tensor(rewards).to(device)`, where `rewards` is a part of a batch that the function is
    given, or of what `memory.sample(n)` gives; `defined`: functions of the file, which are
    followed."""
    given = set(_parameters(scope))
    parts = {
        part.id
        for node in _inside(scope)
        if isinstance(node, ast.Assign) and _gives_parts(node.value, given, defined)
        for target in node.targets
        if isinstance(target, ast.Tuple)
        for part in target.elts
        if isinstance(part, ast.Name)
    }
    for call in _inside(scope) if parts else ():
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            made: ast.expr = call
            if call.func.attr == "cuda" or (call.func.attr == "to" and is_device(call)):
                made = call.func.value
            elif keyword(call, "device") is None:
                continue
            if keyword(call, "dtype") is None and _is_part(made, parts):
                yield call


def is_device(call: ast.Call) -> bool:
    """Whether a call of `.to` names a device."""
    every = arguments_for(call, 0, "device")
    return any(names_device(last_name(one)) for one in every)


def _parameters(scope: ast.AST) -> Iterator[str]:
    if isinstance(scope, FUNCTIONS):
        arguments = scope.args
        for one in explicit_parameters(arguments):
            yield one.arg


def _inside(scope: ast.AST) -> Iterator[ast.AST]:
    """What runs with a function, or with a module: no function of that."""
    if not isinstance(scope, ast.Module):
        yield from walk(scope)
        return
    for statement in scope.body:
        if not isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
            yield from walk(statement)


def _gives_parts(value: ast.expr, given: Container[str], defined: Container[str]) -> bool:
    """Whether a value is a batch of which nobody sees here what it is made of."""
    if isinstance(value, ast.Name):
        return value.id in given
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return False
    is_known = root_name(value.func, ast.Attribute) in _LIBRARIES
    return not is_known and value.func.attr not in defined


def _is_part(node: ast.expr, parts: Container[str]) -> bool:
    """Whether a tensor is made of one of these names, of the dtype that it has."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in TENSORS:
            made = node.args[0] if len(node.args) == 1 else None
            says = keyword(node, "dtype") is not None
            return not says and _is_made_of(made, parts)
        if node.func.attr in NARROW:
            return False
        node = node.func.value
    return False


def _is_made_of(node: ast.expr | None, parts: Container[str]) -> bool:
    while isinstance(node, ast.Call) and is_of_numpy(node.func):
        if last_name(node.func) not in _ARRAYS or len(node.args) != 1 or node.keywords:
            return False
        node = node.args[0]
    return isinstance(node, ast.Name) and node.id in parts
