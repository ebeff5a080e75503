"""What a value keeps when it goes from one file to another: no place and no switch of the first.

Whoever reads an event may point at each node that hangs on it, and all of these are of one file.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

from mpslint.semantics.worlds.joining import join
from mpslint.semantics.worlds.machines import ALL, MAC, MACS, PARTS, PORTED
from mpslint.semantics.worlds.numbers import with_items
from mpslint.semantics.worlds.values import (
    BOT,
    LAMBDA,
    MAPPING,
    NAMESPACE,
    PARSER,
    PARTIAL,
    SEQUENCE,
    STREAMED,
    TENSOR,
    UNK,
    UNKNOWN,
    Atom,
    Value,
    cases_of,
    pack,
    where,
)

_HOLDING = frozenset({SEQUENCE, MAPPING, NAMESPACE, PARSER, PARTIAL, LAMBDA, STREAMED})
"""Kinds that are made of other values."""
_DEPTH = 4
"""Sequences in sequences are followed so deep; a namespace may hold itself."""


def foreign(value: Value, ours: Container[object], depth: int = _DEPTH, within: int = ALL) -> Value:
    """A value as it comes from another file: what it hangs on there is told there, and that file's
    switches are none of this one's. `ours`: the nodes of this file, which stay. A machine that is
    `within` some worlds is asked about in these."""
    if value.__class__ is Atom:
        return _without_places(value, ours, depth)
    cases: list[tuple[int, Atom]] = []
    for machine in PARTS:
        joined = BOT
        for _, atom in cases_of(value, machine & within or machine):
            # A tensor that a switch leaves unknown is on that device when the switch is on.
            kept = joined if joined.kind == TENSOR and atom.kind == UNKNOWN else None
            if joined.kind == UNKNOWN and atom.kind == TENSOR:
                kept = atom
            joined = kept if kept is not None else join(joined, atom)
        cases.append((machine, _without_places(joined, ours, depth)))
    return pack(cases)


def foreign_on_mps(given: Mapping[str, Value]) -> dict[str, Value] | None:
    """Arguments as another file gets them with those switches under which a Mac has some of them on
    MPS: with others (`--no-cuda`) they are on the CPU, and joined they would be on neither. None:
    all Macs have them there, or none does."""
    on = 0
    for value in given.values():
        for worlds, atom in cases_of(value, MACS):
            if where(atom) == "mps":
                on |= worlds
    if not any(0 != on & machine != machine for machine in (MAC, PORTED)):
        return None
    return {name: foreign(value, (), within=on) for name, value in given.items()}


def foreign_worlds(worlds: int) -> int:
    """Worlds as they come from another file: a machine comes back if it does with some switches."""
    return sum(machine for machine in PARTS if worlds & machine)


def _without_places(atom: Atom, ours: Container[object], depth: int) -> Atom:
    kind = atom.kind
    if kind in _HOLDING:
        if not depth:
            return UNK
        return atom.but(v=_parts(kind, atom.v, ours, depth - 1), **_kept(atom, ours))
    if atom is BOT or not (
        atom.tests or atom.node is not None or atom.symbol is not None or atom.wrapped is not None
    ):
        return atom
    return atom.but(**_kept(atom, ours))


def _parts(kind: str, held: Any, ours: Container[object], depth: int) -> Any:
    """What an atom is made of: the items of a sequence, what a `lambda` gives."""
    if kind == LAMBDA:
        return foreign(held, ours, depth)
    if kind == SEQUENCE:
        return with_items(held, [foreign(item, ours, depth) for item in held])
    if kind == STREAMED:
        return foreign(held, ours, depth) if held is not None else None
    if kind == PARTIAL:
        function, first, named = held
        given = [foreign(item, ours, depth) for item in first]
        taken = {name: foreign(item, ours, depth) for name, item in named.items()}
        return _without_places(function, ours, depth), given, taken
    return {name: foreign(item, ours, depth) for name, item in held.items()}


def _kept(atom: Atom, ours: Container[object]) -> dict[str, Any]:
    """What an atom hangs on in this file."""
    node = atom.node
    if isinstance(node, tuple):
        node = tuple(item for item in node if item in ours) or None
    elif node not in ours:
        node = None
    tests = frozenset(test for test in atom.tests if test in ours)
    wrapped = atom.wrapped if atom.wrapped in ours else None
    return {"tests": tests, "node": node, "symbol": None, "wrapped": wrapped}
