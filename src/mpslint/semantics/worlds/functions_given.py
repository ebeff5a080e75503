"""Functions that are given to functions which only call them: `in_a_group(rank, size, main, args)`.

Where the one that is given them needs what no port has, a process group on NCCL, they run there.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.worlds.machines import ALL
from mpslint.semantics.worlds.state import Env, Function
from mpslint.semantics.worlds.values import FUNCTION, NO_TESTS, Atom, Value

if TYPE_CHECKING:
    from mpslint.semantics.worlds.summaries import Summaries


def note_functions_given(
    home: Summaries, callee: Function, node: ast.Call, given: Env, *, here: int
) -> None:
    """Notes for functions of the file `home` that are given to `callee` in a call `here` in which
    worlds that calls them, where it only calls them and is what CUDA alone can run: that they are
    named in the call hands them to nobody else."""
    for name, value in given.items():
        function = _given(home, value, node)
        if function is None or not _is_only_called(callee, name):
            continue
        worlds = _called_on(callee, name, function, given)
        if worlds is None:
            continue
        function.handed.pop()
        function.escaped = bool(function.handed)
        # What it is given there is not followed from here.
        function.calls[id(node)] = (here & worlds, NO_TESTS, {})


def _given(home: Summaries, value: Value, node: ast.Call) -> Function | None:
    """The function of this file that an argument is, where it is written out in the call."""
    if value.__class__ is not Atom or value.kind != FUNCTION:
        return None
    function: Function = value.v
    if function.home is not home or not function.handed or function.cls is not None:
        return None
    named = function.node.name
    is_written = any(isinstance(item, ast.Name) and item.id == named for item in ast.walk(node))
    return function if is_written else None


def _is_only_called(callee: Function, name: str) -> bool:
    """Whether all that a function does with a parameter is to call it."""
    called = {id(item.func) for item in ast.walk(callee.node) if isinstance(item, ast.Call)}
    uses = [
        item for item in ast.walk(callee.node) if isinstance(item, ast.Name) and item.id == name
    ]
    return bool(uses) and all(id(item) in called for item in uses)


def _called_on(callee: Function, name: str, function: Function, given: Env) -> int | None:
    """The worlds in which a function calls what it is given; None where it is nothing that only
    CUDA can run, or is not known."""
    home: Summaries | None = callee.home
    if home is None or callee.running or not callee.relevant:
        return None
    others = {key: value for key, value in given.items() if key != name}
    home.summary(callee, others)
    if not callee.own:
        return None
    probe = Function(function.node, None, [], ALL, NO_TESTS, home)
    probe.relevant = False
    arguments = {**home.parameters(callee, ()), name: Atom(FUNCTION, probe)}
    mark = len(home.noted)
    home.enter(callee, ALL, NO_TESTS, arguments, recording=False)
    del home.noted[mark:]  # What raises in it was noted by its summary.
    worlds = 0
    for called, _, _ in probe.calls.values():
        worlds |= called
    return worlds or None
