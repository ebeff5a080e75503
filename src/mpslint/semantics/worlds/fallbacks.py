"""What a function of another file does with a device that it is given: it is tried out there.

`to_device(batch, "cuda")` raises nothing where `to_device` takes the CPU once CUDA is not there. A
device that something else replaces on some way is told where the function places something with it.
"""

from __future__ import annotations

from typing import Any

from mpslint.semantics.worlds.events import Event, Kind
from mpslint.semantics.worlds.foreign import foreign
from mpslint.semantics.worlds.joining import is_kept_on_a_way
from mpslint.semantics.worlds.machines import ALL, MAC
from mpslint.semantics.worlds.state import Env, Function
from mpslint.semantics.worlds.values import DEVICE, NO_TESTS, AsIs, Atom, Value, cases_of, places

_PLACING = frozenset({Kind.PLACED, Kind.KEPT, Kind.LOADED})


def replaced_inside(function: Function, given: Env, deepest: int) -> set[int]:
    """Those of the arguments (by `id`) that a function of another file places something on where
    there is CUDA, and on another device on a Mac."""
    if not _can_be_tried(function, deepest):
        return set()
    return {
        id(value)
        for name, value in given.items()
        if value.__class__ is Atom and value.kind == DEVICE and value.v == "cuda"
        if _is_replaced(*_with(function, given, name, value))
    }


def placed_inside(function: Function, given: Env, deepest: int) -> list[Atom]:
    """Those of the arguments that are written out, unless something else takes their place, and
    that a function of another file places something with on a Mac."""
    asked = [(name, value) for name, value in given.items() if is_kept_on_a_way(value)]
    if not asked or not _can_be_tried(function, deepest):
        return []
    return [
        value
        for name, value in asked
        if value.__class__ is Atom
        if any(worlds & MAC for worlds in _with(function, given, name, value)[0])
    ]


def _can_be_tried(function: Function, deepest: int) -> bool:
    home = function.home
    if home is None or function.running or not function.relevant:
        return False
    return bool(home.depth < deepest)


def _is_replaced(marked: list[int], others: list[int], ends: int) -> bool:
    if not marked or any(worlds & MAC for worlds in marked):
        return False
    return bool(ends & MAC) and any(worlds & MAC for worlds in others)


def _with(
    function: Function, given: Env, name: str, device: Atom
) -> tuple[list[int], list[int], int]:
    """The worlds in which the function places something with this argument, and with a device that
    every Mac has; and those that come back from it."""
    mark = AsIs("cuda")
    theirs = {key: foreign(value, ()) for key, value in given.items()}
    theirs[name] = device.but(node=mark, tests=NO_TESTS, maybe=False, symbol=None)
    found, ends = _tried(function.home, function, theirs)
    placed = [item for event in found for item in _placed(event)]
    marked = [worlds for worlds, atom in placed if atom.v == "cuda" and mark in places(atom)]
    others = [worlds for worlds, atom in placed if atom.v in ("cpu", "mps")]
    return marked, others, ends


def _tried(home: Any, function: Function, given: Env) -> tuple[list[Event], int]:
    """What a function tells of when it is called so, and the worlds that come back from it; its
    file keeps nothing of that."""
    log, ends = home.log, dict(home.ends)
    home.log = []
    try:
        arguments = {**home.parameters(function, ()), **given}
        _, left = home.enter(function, ALL, NO_TESTS, arguments, recording=True)
        return home.log, left
    finally:
        home.log = log
        home.ends.clear()
        home.ends.update(ends)


def _placed(event: Event) -> list[tuple[int, Atom]]:
    """The devices of an event that places something, with their worlds."""
    if event.kind not in _PLACING:
        return []
    value: Value = event.value
    return [item for item in cases_of(value, event.worlds) if item[0] and item[1].kind == DEVICE]
