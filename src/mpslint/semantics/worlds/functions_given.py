"""Functions that are given to functions which call them, or hand them on to others that do:
`in_a_group(rank, size, main, args)`, `run_on(2, partial(main, depth=4))`.

Where the one that is given them needs what no port has, a process group on NCCL, they run there.
"""

from __future__ import annotations

import ast
import copy
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.expressions import names_in
from mpslint.semantics.worlds.machines import ALL
from mpslint.semantics.worlds.state import Env, Function
from mpslint.semantics.worlds.values import FUNCTION, NO_TESTS, PARTIAL, Atom, Value

if TYPE_CHECKING:
    from mpslint.semantics.worlds.summaries import Summaries


def note_functions_given(
    home: Summaries, callee: Function, node: ast.Call, given: Env, *, here: int
) -> None:
    """Notes for functions of the file `home` that are given to `callee` in a call `here` in which
    worlds that calls them, where it does nothing else with them and is what CUDA alone can run:
    that they are named in the call hands them to nobody else."""
    for name, value in given.items():
        function, made = _given(home, value, node)
        if function is None:
            continue
        worlds = _called_on(callee, name, function, given)
        if worlds is None:
            continue
        if made is not None:
            _, tests, known = function.calls[id(made)]
            function.calls[id(made)] = (here & worlds, tests, known)
            continue
        function.handed.pop()
        function.escaped = bool(function.handed)
        # What it is given there is not followed from here.
        function.calls[id(node)] = (here & worlds, NO_TESTS, {})


def _given(
    home: Summaries, value: Value, node: ast.Call
) -> tuple[Function | None, ast.Call | None]:
    """The function of this file that an argument is, where it is written out in the call; and the
    call that gave it some of its arguments before (`partial`), if one did, where what that makes is
    used in this call alone."""
    if value.__class__ is not Atom:
        return None, None
    if value.kind == PARTIAL and value.v[0].kind == FUNCTION:
        function: Function = value.v[0].v
        made = value.node
        if function.home is home and isinstance(made, ast.Call) and id(made) in function.calls:
            if _is_used_once(home, made, node):
                return function, made
        return None, None
    if value.kind != FUNCTION:
        return None, None
    function = value.v
    if function.home is not home or not function.handed or function.cls is not None:
        return None, None
    named = function.node.name
    is_written = named in names_in(node)
    return (function if is_written else None), None


def _is_used_once(home: Summaries, made: ast.Call, node: ast.Call) -> bool:
    """Whether what a call makes stands in another call, or under a name that is read there and
    nowhere else."""
    if any(item is made for item in ast.walk(node)):
        return True
    function = home.frame.function
    around = function.node if function is not None else home.tree
    names = {
        target.id
        for item in ast.walk(around)
        if isinstance(item, ast.Assign) and item.value is made
        for target in item.targets
        if isinstance(target, ast.Name)
    }
    reads = [
        item
        for item in ast.walk(around)
        if isinstance(item, ast.Name) and item.id in names and isinstance(item.ctx, ast.Load)
    ]
    return len(reads) == 1 and any(item is reads[0] for item in ast.walk(node))


def _called_on(callee: Function, name: str, function: Function, given: Env) -> int | None:
    """The worlds in which a function calls what it is given; None where it is nothing that only
    CUDA can run, it gives that to somebody who is not seen, or it is not known."""
    home: Summaries | None = callee.home
    if home is None or callee.running or not callee.relevant:
        return None
    others = {key: value for key, value in given.items() if key != name}
    home.summary(callee, others)
    if not callee.own:
        return None
    # It has the name of the parameter there, by which it may be handed on.
    node = copy.copy(function.node)
    node.name = name
    probe = Function(node, None, [], ALL, NO_TESTS, home)
    probe.relevant = False
    arguments = {**home.parameters(callee, ()), name: Atom(FUNCTION, probe)}
    mark = len(home.noted)
    home.enter(callee, ALL, NO_TESTS, arguments, recording=False)
    del home.noted[mark:]  # What raises in it was noted by its summary.
    if probe.handed:
        return None
    worlds = 0
    for called, _, _ in probe.calls.values():
        worlds |= called
    return worlds or None
