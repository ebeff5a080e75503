"""NumPy's arrays, as far as tensors are made of them: their dtype."""

from __future__ import annotations

import ast

from mpslint.facts import machines as facts
from mpslint.semantics.worlds.core import Core
from mpslint.semantics.worlds.events import Kind
from mpslint.semantics.worlds.machines import ALL
from mpslint.semantics.worlds.state import Env
from mpslint.semantics.worlds.values import (
    ARRAY,
    CONST,
    NAME,
    SEQUENCE,
    TENSOR,
    UNK,
    Atom,
    Value,
    one,
)

_OF_NUMBERS = frozenset({"array", "asarray"})


def _is_real(value: Value) -> bool:
    """A number written with a point, perhaps in a list of lists."""
    atom = one(value, ALL)
    if atom.kind == SEQUENCE:
        return any(map(_is_real, atom.v))
    return atom.kind == CONST and type(atom.v) is float


class Arrays(Core):
    def of_array(self, atom: Atom, name: str, args: list[Value]) -> Value:
        if name == "astype" and args:
            return _typed(args[0])
        return Atom(ARRAY, atom.v if name in facts.ARRAY_KEEPERS else None)

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

    def array_call(self, name: str, node: ast.Call, args: list[Value], keywords: Env) -> Value:
        """A function of NumPy."""
        at = facts.ARRAY_DTYPE_AT.get(name)
        dtype = keywords.get("dtype", args[at] if at is not None and at < len(args) else None)
        if name in ("asarray", "array", "ascontiguousarray") and args:
            if one(args[0], self.frame.mask).kind == TENSOR:
                self.emit(Kind.READ, node, name="asarray", value=args[0])
        if dtype is not None:
            return _typed(dtype)
        if name in facts.WIDE_ARRAYS:
            return Atom(ARRAY, "float64")
        if name in facts.WHOLE_ARRAYS:
            return Atom(ARRAY, "float64" if any(map(_is_real, args)) else "int64")
        first = one(args[0], ALL) if args else UNK
        if first.kind == ARRAY and first.v == "int64" and name in facts.OF_NUMBERS:
            return Atom(ARRAY, "float64")
        if first.kind == SEQUENCE and name in _OF_NUMBERS and any(map(_is_real, first.v)):
            return Atom(ARRAY, "float64")
        while first.kind == SEQUENCE and first.v:
            first = one(first.v[0], ALL)
        if first.kind == ARRAY and name.rpartition(".")[2] in facts.KEEPING_ARRAYS:
            return first
        if name in facts.OF_NUMBERS and first.kind == CONST and type(first.v) in (int, float):
            return Atom(ARRAY, "float64", scalar=True)
        return Atom(ARRAY)


def _typed(dtype: Value) -> Atom:
    """An array of the dtype that an argument names."""
    to = one(dtype, ALL)
    if to.kind == NAME:
        return Atom(ARRAY, facts.DTYPES.get(to.v))
    return Atom(ARRAY, "float64" if to.kind == CONST and to.v == "float64" else None)
