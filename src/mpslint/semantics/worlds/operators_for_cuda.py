"""Operators of a project that take the tensors of CUDA alone: `if query.device.type != "cuda":
raise ValueError(...)`. No port of who calls one lets a Mac through.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.index import FunctionNode, walk
from mpslint.semantics.worlds.core import MAX_DEPTH
from mpslint.semantics.worlds.machines import ALL, MACS
from mpslint.semantics.worlds.values import FUNCTION, NO_TESTS, Atom

if TYPE_CHECKING:
    from mpslint.semantics.worlds.core import Core
    from mpslint.semantics.worlds.state import Env, Function
    from mpslint.semantics.worlds.summaries import Summaries

_PLACES = frozenset({"device", "is_cuda"})
"""What a tensor has, and a device has not."""


def takes_cuda_alone(function: Function, ends: int, caller: object) -> bool:
    """Whether a function of another file ends on every Mac for what it is given, a tensor that is
    not on CUDA, and says nothing of MPS. `ends`: the worlds that come back from it."""
    home: Core | None = function.home
    if home is None or home is caller or ends & MACS:
        return False
    parameters = {item.arg for item in (*function.node.args.args, *function.node.args.kwonlyargs)}
    asked = function.end_tests & home.device_tests
    return (
        bool(asked)
        and not any(item in home.mps_tests for item in walk(function.node))
        and all(parameters.intersection(_whose_place(test)) for test in asked)
    )


def calls_cuda_alone(home: Summaries, function: Function, given: Env) -> bool:
    """Whether a function of the file `home` calls one of the file that it is given, which needs
    what CUDA alone has."""
    if function.home is not home or not home.recording or not function.relevant:
        return False
    return any(
        _is_of_cuda(home, value.v)
        for name, value in given.items()
        if value.__class__ is Atom and value.kind == FUNCTION and value.v.home is home
        if _calls(function.node, name)
    )


def _is_of_cuda(home: Summaries, function: Function) -> bool:
    """Whether no Mac comes back from a function. It may name no device itself, and is run to see
    what it calls."""
    if function.running or home.depth >= MAX_DEPTH:
        return False
    arguments, mark = home.parameters(function, ()), len(home.noted)
    _, ends = home.enter(function, ALL, NO_TESTS, arguments, recording=False)
    del home.noted[mark:]  # What raises in it is noted where it is told.
    return function.own and not ends & MACS


def _calls(node: FunctionNode, name: str) -> bool:
    return any(
        isinstance(item, ast.Call) and isinstance(item.func, ast.Name) and item.func.id == name
        for item in walk(node)
    )


def _whose_place(test: ast.expr) -> Iterator[str]:
    """The names of what a test asks where it is: `query` of `query.device.type`."""
    for item in walk(test):
        if isinstance(item, ast.Attribute) and item.attr in _PLACES:
            if isinstance(item.value, ast.Name):
                yield item.value.id
