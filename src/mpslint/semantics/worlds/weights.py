"""What a module gives of its parameters and buffers: tensors that lie where the module does."""

from __future__ import annotations

from mpslint.facts.handed_tensors import EACH, TABLE
from mpslint.semantics.worlds.values import (
    LOADER,
    SEQUENCE,
    STATE,
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
        return Atom(LOADER, one if method in EACH else _with_name(one))

    return lift(given, module)


def part_of_state(state: Value, method: str) -> Value | None:
    """What a method gives of the table of a module's tensors; None: nothing that is known."""
    if method in ("copy", "__copy__"):
        return state
    if method in ("get", "pop", "__getitem__"):
        return lift(lambda atom: atom.v if atom.kind == STATE else UNK, state)
    if method == "values":
        return lift(lambda atom: Atom(LOADER, atom.v) if atom.kind == STATE else UNK, state)
    if method == "items":
        return lift(
            lambda atom: Atom(LOADER, _with_name(atom.v)) if atom.kind == STATE else UNK, state
        )
    return None


def _with_name(one: Atom) -> Atom:
    return Atom(SEQUENCE, (UNK, one))
