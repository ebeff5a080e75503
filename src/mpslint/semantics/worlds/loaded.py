"""What is read from a file and kept on the CPU (`torch.load(path, map_location="cpu")`).

It may be a tensor, a table of tensors, a number or a text. Where it meets a tensor of the Apple
GPU, and on CUDA none of its, it is one that was left behind.
"""

from __future__ import annotations

from mpslint.facts.priors import matches
from mpslint.semantics.worlds.machines import ALL, MAC, NVIDIA, ported_of_mac
from mpslint.semantics.worlds.values import (
    CONST,
    DEVICE,
    MAPPING,
    NONE,
    TENSOR,
    UNK,
    UNKNOWN,
    Atom,
    Value,
    by_world,
    cases_of,
    lift,
    pack,
    text_of,
    where,
)

_LOADED = Atom(UNKNOWN, placed=("cpu", None))
_SAME = frozenset(
    {"get", "pop", "items", "values", "copy", "clone", "detach", "contiguous", "data", "T", "mT"}
    | {"float", "half", "long", "int", "bool", "requires_grad_", "view", "reshape", "permute"}
    | {"squeeze", "unsqueeze", "transpose", "t", "flatten", "expand", "repeat"}
)
"""Attributes and methods of a table, or of a tensor, that give a part of it or the same in another
form."""


def loaded(place: Value) -> Value:
    """What is loaded with this `map_location`: it is known where that is the CPU. So it is on a Mac
    that has MPS chosen where only CUDA keeps the place that was saved: no fix chooses there."""
    left = kept = 0
    for worlds, atom in cases_of(place):
        left |= worlds & MAC if where(atom) == "cpu" else 0
        kept |= worlds if atom.kind == CONST and atom.v is None else 0
    left = ported_of_mac(left) & kept

    def read(worlds: int, atom: Atom) -> Value:
        here = _LOADED.but(tests=atom.tests)
        if where(atom) == "cpu":
            return here
        return pack([(left, here), (ALL & ~left, UNK)]) if left & worlds else UNK

    return by_world(read, place)


def is_loaded(atom: Atom) -> bool:
    return atom.kind == UNKNOWN and atom.placed is not None


def entry(atom: Atom, index: Atom) -> Atom:
    """An entry of what is loaded: a tensor perhaps, if its key does not tell of a number."""
    key = text_of(index) if index.kind == CONST else ""
    return UNK if key and matches("plain-entries", key) else atom


def kept_form(base: Value, name: str, args: list[Value]) -> Value | None:
    """What an attribute or a method gives of what is loaded; None: something else."""
    if name not in _SAME or not any(is_loaded(atom) for _, atom in cases_of(base)):
        return None
    key = args[0] if args and args[0].__class__ is Atom else NONE
    assert isinstance(key, Atom)
    return lift(
        lambda atom: entry(atom, key) if is_loaded(atom) else atom if atom.kind == TENSOR else UNK,
        base,
    )


def meets_on_cuda(values: list[Value], worlds: int) -> bool:
    """Whether what is loaded meets a tensor of CUDA's as well, so that it is none itself."""
    left = there = 0
    for value in values:
        for mask, atom in cases_of(value, worlds & NVIDIA):
            if is_loaded(atom):
                left |= mask
            elif where(atom) == "cuda" and atom.kind != DEVICE:
                there |= mask
    return bool(left & there)


def left_on_host(value: Atom) -> Atom:
    """A tensor that may have been loaded, as what it meets finds it."""
    return Atom(TENSOR, ("cpu", None), None, value.tests)


def read_back(saved: list[Value]) -> Value:
    """What is loaded from where one table was saved: its tensors, which are on the CPU if they were
    when it was saved."""
    table = saved[0] if len(saved) == 1 else UNK
    if table.__class__ is not Atom or table.kind != MAPPING:
        return UNK
    return Atom(
        MAPPING,
        {
            key: lift(
                lambda atom: _LOADED if atom.kind == TENSOR and where(atom) == "cpu" else UNK, value
            )
            for key, value in table.v.items()
        },
    )
