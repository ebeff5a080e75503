"""NumPy's arrays, as far as tensors are made of them: their dtype."""

from __future__ import annotations

import ast

from mpslint.facts import machines as facts
from mpslint.facts import python_numbers
from mpslint.facts.arrays import (
    DTYPE_AT,
    FLOATS,
    GENERATORS,
    INTEGER,
    INTEGERS,
    MADE_WIDE,
    NUMBER,
    REAL,
    is_one_number,
    made_by_method,
    made_of,
    number_of,
    size_at,
)
from mpslint.facts.complex_numbers import COMPLEX, is_complex
from mpslint.semantics.worlds.events import Kind
from mpslint.semantics.worlds.machines import ALL
from mpslint.semantics.worlds.numbers import FRACTION, WHOLE, kind_of, tells
from mpslint.semantics.worlds.records import Records
from mpslint.semantics.worlds.state import Env
from mpslint.semantics.worlds.values import (
    ARRAY,
    BOT,
    CONST,
    HOST,
    NAME,
    ON_HOST,
    SEQUENCE,
    STREAMED,
    TENSOR,
    UNK,
    Atom,
    Value,
    dtype_of,
    lift,
    one,
)

_FROM_PARTS = frozenset(
    {"array", "asarray", "ascontiguousarray", "stack", "vstack", "hstack", "concatenate"}
)
"""What makes an array of what it is given, perhaps in a list."""
_OF_NUMBERS = {INTEGER: "int64", REAL: "float64", NUMBER: None, COMPLEX: "complex128"}


def _is_real(value: Value) -> bool:
    """A number written with a point, perhaps in a list of lists."""
    atom = one(value, ALL)
    if atom.kind == SEQUENCE:
        return any(map(_is_real, atom.v))
    return kind_of(atom) == REAL


def _side(value: Value) -> str | None:
    """What NumPy takes a value for: the dtype of an array, or which kind of number it is."""
    atom = one(value, ALL)
    if atom.kind == SEQUENCE and atom.v:
        parts = [_whole(_side(part)) for part in atom.v]
        if any(map(is_complex, parts)):
            return "complex128" if "complex64" not in parts else None
        return "float64" if _is_real(atom) else parts[0]
    if atom.kind == ARRAY:
        return number_of(dtype_of(atom)) if atom.scalar else dtype_of(atom)
    if (kind := kind_of(atom)) is not None:
        return kind
    if atom.kind == STREAMED and atom.v is not None:
        return _whole(_side(atom.v))
    return NUMBER if atom.kind == HOST else None


def _whole(side: str | None) -> str | None:
    """The dtype of an array of such numbers, or of parts of this dtype."""
    return _OF_NUMBERS.get(side, side) if side is not None else None


class Arrays(Records):
    def of_array(self, atom: Atom, name: str, args: list[Value], keywords: Env) -> Value:
        to = keywords.get("dtype", args[0] if name == "astype" and args else None)
        if to is not None:
            return _typed(to)
        alone = atom.scalar or is_one_number(name, 1 + len(args) + len(keywords))
        return Atom(ARRAY, made_by_method(name, dtype_of(atom)), scalar=alone)

    def read_as_arrays(self, node: ast.Call, args: list[Value], keywords: Env) -> None:
        """Tensors, perhaps in a list, are given to a function that asks for their memory."""
        named = {item.arg: item.value for item in node.keywords}
        given = [(named.get(name), value) for name, value in keywords.items()]
        if not any(isinstance(item, ast.Starred) for item in node.args):
            given += zip(node.args, args, strict=False)
        for place, value in given:
            atom = one(value, self.frame.mask)
            if atom.kind == TENSOR:
                self.emit(Kind.HANDED, node, value=value, use=place)
            elif atom.kind == SEQUENCE and isinstance(place, ast.List | ast.Tuple):
                for part, item in zip(place.elts, atom.v, strict=False):
                    if one(item, self.frame.mask).kind == TENSOR:
                        self.emit(Kind.HANDED, node, value=item, use=part)

    def made_of_numbers(
        self, name: str, node: ast.Call, args: list[Value], keywords: Env
    ) -> Value | None:
        """What a function of NumPy or of Python's own gives; None: it is no such function."""
        module, _, rest = name.partition(".")
        if module == "numpy":
            return self._array_call(rest, node, args, keywords)
        if name == "collections.deque":
            return args[0] if args and tells(args[0]) else UNK if args else Atom(SEQUENCE, ())
        if module == "collections":
            return self.named_tuple(name, node, args, keywords)
        return self._number_call(name, args) if module in python_numbers.MODULES else None

    def _number_call(self, name: str, args: list[Value]) -> Value | None:
        if name in python_numbers.FRACTIONS:
            return FRACTION
        if name in python_numbers.WHOLE:
            return WHOLE
        if name in python_numbers.GENERATORS:
            return Atom(NAME, name.partition(".")[0])  # As those of NumPy.
        if name in python_numbers.PICKING | python_numbers.SAMPLING and args:
            each = self.items_of(args[0])
            if tells(each):
                return each if name in python_numbers.PICKING else Atom(STREAMED, each)
        return None

    def _array_call(self, name: str, node: ast.Call, args: list[Value], keywords: Env) -> Value:
        """A function of NumPy."""
        at = DTYPE_AT.get(name)
        given = keywords.get("dtype", args[at] if at is not None and at < len(args) else None)
        if name in ("asarray", "array", "ascontiguousarray") and args:
            if one(args[0], self.frame.mask).kind == TENSOR:
                self.emit(Kind.READ, node, name="asarray", value=args[0])
        if given is not None:
            return _typed(given)
        if name in MADE_WIDE:
            return Atom(ARRAY, "float64")
        drawn = size_at(name.removeprefix("random.")) if name.startswith("random.") else None
        if drawn is not None:
            sized = "size" in keywords or len(args) > drawn
            return Atom(ARRAY, "float64") if sized else ON_HOST.but(unread=REAL)
        if name in GENERATORS:
            return Atom(NAME, "numpy.random")  # Its methods are the functions of that module.
        if name == "arange":
            return Atom(ARRAY, "float64" if any(map(_is_real, args)) else "int64")
        sides = [_side(value) for value in args]
        weighed = "weights" in keywords or len(args) > 1
        if name in _FROM_PARTS:
            dtype = _whole(sides[0]) if sides else None
        else:
            dtype = made_of(name, len(args), sides.__getitem__, weighed=weighed)
        alone = all(side in (INTEGER, REAL, NUMBER) for side in sides)
        return Atom(ARRAY, dtype, scalar=alone or is_one_number(name, len(args) + len(keywords)))


def _typed(dtype: Value) -> Value:
    """An array of the dtype that an argument names."""
    return lift(_of_dtype, dtype)


def _of_dtype(to: Atom) -> Atom:
    if to is BOT:
        return BOT
    if to.kind == NAME:
        return Atom(ARRAY, facts.DTYPES.get(to.v))
    return Atom(ARRAY, to.v if to.kind == CONST and to.v in INTEGERS | FLOATS else None)
