"""Numbers of Python's, as far as tensors are made of them: which are fractions, and what holds such
numbers, or arrays that are wide, without saying so.

Source: `torch/utils/data/_utils/collate.py` (a batch of Python's fractions is float64, and one of
NumPy's arrays and numbers keeps their dtype); `torch/csrc/utils/tensor_new.cpp` (a list with one of
NumPy's numbers in it is as wide as that).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from mpslint.facts.arrays import INTEGER, REAL
from mpslint.facts.complex_numbers import COMPLEX
from mpslint.facts.machines import NOT_ON_MPS
from mpslint.facts.python_numbers import CONSTANTS
from mpslint.semantics.worlds.machines import ALL
from mpslint.semantics.worlds.values import (
    ARRAY,
    BOT,
    CONST,
    HOST,
    MAPPING,
    NAME,
    ONE_OF_THEM,
    SEQUENCE,
    STREAMED,
    TENSOR,
    UNK,
    UNKNOWN,
    Atom,
    Value,
    cases_of,
    dtype_of,
    one,
    tensor,
)

_KINDS = frozenset({INTEGER, REAL, COMPLEX})
WHOLE = Atom(UNKNOWN, unread=INTEGER)
FRACTION = Atom(UNKNOWN, unread=REAL)
_OF_NUMBERS = {REAL: "float64", COMPLEX: "complex128"}
"""The dtype of a batch of such numbers; of any others it is int64."""
_ALWAYS_NUMBERS = (ast.Div, ast.Sub, ast.Pow)
"""What is computed so of a number or a text is a number."""
_TABLES = frozenset({SEQUENCE, MAPPING})
_DEPTH = 4
"""Samples in samples are followed so deep."""


class Fields(tuple[Value, ...]):
    """The items of a named tuple."""

    names: tuple[str, ...]

    def __new__(cls, names: Iterable[str], items: Iterable[Value]) -> Fields:
        made = super().__new__(cls, items)
        made.names = tuple(names)
        return made


def with_items(items: tuple[Value, ...], new: Iterable[Value]) -> tuple[Value, ...]:
    """As many others, under the names that these have, if any."""
    return Fields(items.names, new) if isinstance(items, Fields) else tuple(new)


def field_of(atom: Atom, name: str) -> Value:
    """What a sequence has under a name."""
    if isinstance(atom.v, Fields) and name in atom.v.names:
        return atom.v[atom.v.names.index(name)]
    return UNK


def kind_of(atom: Atom) -> str | None:
    """Which kind of number of Python's an atom is; None: none, or nobody knows."""
    if atom.unread in _KINDS:
        return atom.unread
    if atom.kind == CONST and type(atom.v) in (int, float):
        return REAL if type(atom.v) is float else INTEGER
    if atom.kind == CONST and type(atom.v) is complex:
        return COMPLEX
    return REAL if atom.kind == NAME and atom.v in CONSTANTS else None


def of_kind(atom: Atom, kind: str) -> Atom:
    """What `float(x)` or `int(x)` makes of something: a number, on or off as before."""
    return atom.but(unread=kind) if atom.kind in (UNKNOWN, HOST) and not atom.placed else atom


def computed(operator: ast.operator, a: Atom, b: Atom, found: Atom) -> Atom:
    """`found`, which a computation with numbers gave: a number of which kind."""
    if found.kind not in (UNKNOWN, HOST) or found.unread or found.placed is not None:
        return found
    left, right = kind_of(a), kind_of(b)
    if left is None or right is None:
        known = left or right
        other = b if left is not None else a
        if known is None or other.kind != HOST:
            return found
        if known == INTEGER and not isinstance(operator, _ALWAYS_NUMBERS):
            return found
        if isinstance(operator, ast.Mod) and other is a:
            return found  # a text with a place for it
    if COMPLEX in (left, right):
        return found.but(unread=COMPLEX)
    is_real = REAL in (left, right) or isinstance(operator, ast.Div)
    if not is_real and None in (left, right):
        return found
    return found.but(unread=REAL if is_real else INTEGER)


def tells(value: Value, depth: int = _DEPTH) -> bool:
    """Whether a value holds something that a batch, or a tensor, is float64 or complex128 of though
    nothing of it says so."""
    if not depth:
        return False
    if value.__class__ is not Atom:
        return any(tells(atom, depth) for _, atom in cases_of(value))
    if value.kind in (ARRAY, TENSOR):
        return dtype_of(value) in NOT_ON_MPS and value.unread != ONE_OF_THEM
    if value.kind == SEQUENCE:
        return any(tells(item, depth - 1) for item in value.v)
    if value.kind == MAPPING:
        return any(tells(item, depth - 1) for item in value.v.values())
    if value.kind == STREAMED:
        return value.v is not None and tells(value.v, depth - 1)
    return kind_of(value) in _OF_NUMBERS


def is_wide(value: Value) -> bool:
    """Whether a value is a tensor that MPS lacks the dtype of, be it one of several."""
    return value.__class__ is Atom and value.kind == TENSOR and value.v[1] in NOT_ON_MPS


def collated(value: Value, depth: int = _DEPTH) -> Value:
    """What the default of a loader makes of samples that are like this one; float64, perhaps, of
    what is so on some way."""
    if value.__class__ is not Atom:
        made = [one(collated(item, depth), ALL) for _, item in cases_of(value) if item is not BOT]
        wide = next((item for item in made if is_wide(item)), None)
        if wide is not None and all(item.kind == TENSOR for item in made):
            return wide if all(item.v == wide.v for item in made) else wide.but(maybe=True)
    atom = one(value, ALL)
    kind = kind_of(atom)
    if kind is not None:
        return tensor("cpu", _OF_NUMBERS.get(kind, "int64"))
    if atom.kind == TENSOR:
        return tensor(*atom.v)
    if atom.kind == ARRAY:
        return tensor("cpu", atom.v).but(maybe=atom.maybe)
    if atom.kind == SEQUENCE and depth:
        return Atom(SEQUENCE, with_items(atom.v, [collated(item, depth - 1) for item in atom.v]))
    if atom.kind == MAPPING and depth:
        return Atom(MAPPING, {key: collated(item, depth - 1) for key, item in atom.v.items()})
    return tensor("cpu")


def columns(row: Value) -> Atom | None:
    """What `zip(*rows)` makes of rows that are like this one; None: nothing of it is wide."""
    if row.__class__ is not Atom or row.kind != SEQUENCE or not tells(row):
        return None
    return row.but(v=tuple([Atom(STREAMED, item) for item in row.v]))


def dtype_of_list(value: Value) -> Atom | None:
    """The array that a list of numbers, or of arrays, is as wide as; None: as a list of Python's
    own, or not known."""
    atom = one(value, ALL)
    if atom.kind == ARRAY:
        return atom
    items: tuple[Value, ...] = ()
    if atom.kind == SEQUENCE:
        items = atom.v
    elif atom.kind == STREAMED and atom.v is not None:
        items = (atom.v,)
    for item in items:
        found = dtype_of_list(item)
        if found is not None and found.v in NOT_ON_MPS:
            return found
    return None


def each_of(items: Iterable[Value]) -> Value | None:
    """What a list is like of which one item makes a tensor wide, whatever number the others are;
    None: that is not so."""
    found: Value | None = None
    for item in items:
        if item.__class__ is not Atom:
            return None
        if item.kind == ARRAY and item.v in NOT_ON_MPS:
            found = item if found is None else found
        elif item.kind != ARRAY and kind_of(item) is None:
            return None
    return found


def wide_one(values: Iterable[Value]) -> Value | None:
    """A tensor that is wide, of several of which one after another is looked at; None where they
    are no such tensors, or all are alike."""
    atoms = [atom for value in values for _, atom in cases_of(value)]
    wide = [atom for atom in atoms if atom.kind in (ARRAY, TENSOR) and dtype_of(atom) in NOT_ON_MPS]
    if not wide:
        return next(
            (_wide_parts(atom) for atom in atoms if atom.kind in _TABLES and holds_wide(atom)), None
        )
    if all(atom.kind == wide[0].kind and atom.v == wide[0].v for atom in atoms):
        return None
    return wide[0].but(unread=ONE_OF_THEM)


def holds_wide(value: Value, depth: int = _DEPTH) -> bool:
    """Whether a value is a tensor or an array that is wide, or a table or a sequence with one."""
    atom = one(value, ALL)
    if atom.kind in (ARRAY, TENSOR):
        return tells(atom)
    if atom.kind == STREAMED:
        return bool(depth) and atom.v is not None and holds_wide(atom.v, depth - 1)
    if atom.kind not in (SEQUENCE, MAPPING) or not depth:
        return False
    parts = atom.v if atom.kind == SEQUENCE else atom.v.values()
    return any(holds_wide(part, depth - 1) for part in parts)


def _wide_parts(value: Value, depth: int = _DEPTH) -> Atom:
    """Something that has what is wide in one of several where that has it, and else anything."""
    atom = one(value, ALL)
    if atom.kind == SEQUENCE and depth:
        return Atom(SEQUENCE, with_items(atom.v, [_wide_parts(item, depth - 1) for item in atom.v]))
    if atom.kind == MAPPING and depth:
        return Atom(MAPPING, {key: _wide_parts(item, depth - 1) for key, item in atom.v.items()})
    return atom if atom.kind in (ARRAY, TENSOR, STREAMED) and tells(atom) else UNK
