"""What a module gives of its parameters and buffers: tensors that lie where the module does."""

from __future__ import annotations

from collections.abc import Callable

from mpslint.facts.handed_tensors import EACH, TABLE
from mpslint.semantics.worlds.values import (
    SEQUENCE,
    STATE,
    STREAMED,
    UNK,
    Atom,
    Value,
    dtype_of,
    lift,
    tensor,
    where,
)


def weights(module: Value, method: str) -> Value:
    """What one of these methods gives. Of a module of which nobody says where it is: anything."""

    def given(atom: Atom) -> Atom:
        place = where(atom)
        if place is None or place == "?":
            return UNK
        one = tensor(place, dtype_of(atom))
        if method == TABLE:
            return Atom(STATE, one)
        return Atom(STREAMED, one if method in EACH else _with_name(one))

    return lift(given, module)


def part_of_state(state: Value, method: str) -> Value | None:
    """What a method gives of the table of a module's tensors; None: nothing that is known."""
    if method == "copy":
        return state
    part = _PARTS.get(method)
    if part is None:
        return None
    return lift(lambda atom: part(atom.v) if atom.kind == STATE else UNK, state)


def _with_name(one: Atom) -> Atom:
    return Atom(SEQUENCE, (UNK, one))


_PARTS: dict[str, Callable[[Atom], Atom]] = {
    "get": lambda one: one,
    "pop": lambda one: one,
    "values": lambda one: Atom(STREAMED, one),
    "items": lambda one: Atom(STREAMED, _with_name(one)),
}
"""What methods give of a table, by what a tensor of it is like."""
