"""What torch makes, and where: devices, tensors, modules."""

from __future__ import annotations

import ast

from mpslint.facts import machines as facts
from mpslint.semantics.worlds.events import Kind
from mpslint.semantics.worlds.machines import ALL, MACS
from mpslint.semantics.worlds.numbers import dtype_of_list, is_wide
from mpslint.semantics.worlds.placing import Placing
from mpslint.semantics.worlds.state import Env
from mpslint.semantics.worlds.values import (
    ARRAY,
    BARE,
    BOT,
    CONST,
    DEVICE,
    DTYPE,
    HOST,
    MODULE,
    NAME,
    NUMBERED,
    ONE_OF_THEM,
    SEQUENCE,
    SOME,
    STREAMED,
    TENSOR,
    UNK,
    UNKNOWN,
    Atom,
    Value,
    cases_of,
    device,
    dtype_of,
    is_none,
    lift,
    one,
    pack,
    tensor,
    where,
)

_OF_DATA = frozenset({"tensor", "as_tensor", "asarray", "scalar_tensor"})
"""Factories whose tensor has no dimensions where it is made of a number."""


class Makers(Placing):
    default_device: Value | None

    def makes_on(self, value: Value) -> None:
        """From here on factories, and modules for their weights, make tensors on this device."""
        here, was = self.frame.mask, self.default_device or device("cpu")
        self.default_device = pack([*cases_of(value, here), *cases_of(was, ALL & ~here)])

    def make_device(self, args: list[Value], keywords: Env) -> Value:
        if not args and "type" in keywords:
            args = [keywords["type"]]
        if not args:
            return device("?")

        def make(atom: Atom) -> Atom:
            if atom.kind == DEVICE:
                apart = len(args) > 1 or "index" in keywords
                return atom.but(made=True, unread=NUMBERED if apart else "")
            if atom.kind == CONST and type(atom.v) is int:
                return Atom(DEVICE, "cuda", atom.node, atom.tests, atom.maybe, True)
            if atom.kind in (UNKNOWN, HOST, SOME, CONST):
                return Atom(DEVICE, "?", None, atom.tests, True, True)
            return UNK

        return lift(make, args[0])

    def make_tensor(self, short: str, node: ast.Call, args: list[Value], keywords: Env) -> Value:
        source = args[0] if args else UNK
        place = keywords.get("device")
        dtype = self.dtype_of(keywords.get("dtype"))
        from_array, made = False, UNK
        if dtype is None and short in ("tensor", "as_tensor", "from_numpy", "asarray"):
            held = _array_in(source)
            if held is not None and "dtype" not in keywords:
                dtype, from_array, made = held.v, True, held
        if place is not None and not is_none(place):
            where_to = self.place(place, node)
        elif short in facts.LIKE or short in facts.INFERRING:
            where_to = lift(_device_of, self._first_tensor(args, short))
        elif self.default_device is not None:
            where_to = self.default_device
        else:
            where_to = device("cpu")
        if short in facts.LIKE and args and one(source, MACS).kind == TENSOR:
            dtype = dtype or dtype_of(one(source, MACS))
        elif short in _OF_DATA and one(source, MACS).kind not in (
            SEQUENCE,
            STREAMED,
            ARRAY,
            TENSOR,
        ):
            made = Atom(UNKNOWN, scalar=True)
        elif dtype is None and short in facts.FLOAT_FACTORIES and "dtype" not in keywords:
            dtype = self.default_dtype
        result = self.on_device(made, where_to, None if from_array else dtype)
        self.wide(result, node, dtype, array=from_array)
        return result

    def _first_tensor(self, args: list[Value], short: str) -> Value:
        for value in args:
            if one(value, self.frame.mask).kind == TENSOR:
                return value
        if short in facts.INFERRING and args:
            first = one(args[0], self.frame.mask)
            known = first.kind in (CONST, SEQUENCE, ARRAY, HOST)
            return tensor("cpu") if known else tensor("?")
        return tensor("?")

    def make_module(self, last: str, node: ast.Call, args: list[Value], keywords: Env) -> Value:
        self.emit(Kind.OPERATOR, node, name=last)
        place = keywords.get("device")
        dtype = self.dtype_of(keywords.get("dtype")) or self.default_dtype
        if last in ("Parameter", "Module"):
            return self.parameter(node, args)
        if place is not None and not is_none(place):
            placed = self.place(place, node)
            made = lift(lambda atom: Atom(MODULE, (where(atom) or "?", dtype)), placed)
            self.wide(made, node, dtype, module=True)
            return made
        if last in facts.MIXING_LOSSES:
            return UNK
        loss = last.endswith("Loss")
        bare = last in facts.BARE_MODULES and facts.WEIGHTS.isdisjoint(keywords)
        bare = bare and not (loss and args) and not _spreads(node)
        held = BARE if bare else dtype
        if self.default_device is None:
            return Atom(MODULE, ("cpu", held), scalar=loss)
        return lift(
            lambda atom: Atom(MODULE, (where(atom) or "?", held), scalar=loss), self.default_device
        )

    def kept_by_module(self, node: ast.expr, value: Value) -> None:
        """A parameter or a buffer is made of `node`."""
        atom = one(value, MACS)
        if is_wide(atom) and not atom.maybe and atom.unread != ONE_OF_THEM:
            self.wide_parts[node] = str(atom.v[1])

    def parameter(self, node: ast.Call, args: list[Value]) -> Value:
        """`nn.Parameter(tensor)`; one of a module goes where the module goes."""
        if args:
            self.kept_by_module(node.args[0], args[0])
        first = one(args[0], ALL) if args else UNK
        if first.kind != TENSOR:
            return UNK
        cls = self.frame.function.cls if self.frame.function is not None else None
        return tensor("?", first.v[1]) if cls is not None and cls.module else args[0]

    def dtype_of(self, value: Value | None) -> str | None:
        """The dtype that an argument names, as a Mac would have it."""
        if value is None:
            return None
        atom = one(value, MACS)
        if atom.kind == NAME:
            return facts.DTYPES.get(atom.v)
        if atom.kind == DTYPE:
            return str(atom.v) if atom.v else None
        return None


def _array_in(source: Value) -> Atom | None:
    """The array that a tensor is made of, or that makes it as wide: one that MPS lacks the dtype of
    before others, where it is one on some way only."""
    held = [dtype_of_list(atom) for _, atom in cases_of(source, MACS) if atom is not BOT]
    wide = next((one for one in held if one is not None and one.v in facts.NOT_ON_MPS), None)
    if wide is None:
        return held[0] if held else None
    return (
        wide if all(one is not None and one.v == wide.v for one in held) else wide.but(maybe=True)
    )


def _spreads(node: ast.Call) -> bool:
    return any(isinstance(item, ast.Starred) for item in node.args) or any(
        keyword.arg is None for keyword in node.keywords
    )


def _device_of(atom: Atom) -> Atom:
    return device(atom.v[0]) if atom.kind == TENSOR else device("?")
