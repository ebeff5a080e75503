"""What the parameters of a function stand for."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from functools import partial

from mpslint.facts.arrays import INTEGER
from mpslint.facts.machines import NOT_ON_MPS
from mpslint.semantics.syntax.parameters import positional_parameters
from mpslint.semantics.syntax.replaced_defaults import replacements
from mpslint.semantics.worlds.expressions import Expressions
from mpslint.semantics.worlds.handed_on import handed_on
from mpslint.semantics.worlds.joining import join
from mpslint.semantics.worlds.machines import ALL, MACS
from mpslint.semantics.worlds.numbers import of_kind, tells
from mpslint.semantics.worlds.runners import runs_with_defaults
from mpslint.semantics.worlds.state import Env, Frame, Function, is_dataset
from mpslint.semantics.worlds.values import (
    ARRAY,
    BOT,
    CONST,
    DEVICE,
    HOST,
    INSTANCE,
    MAPPING,
    ONE_OF_THEM,
    SEQUENCE,
    TENSOR,
    UNK,
    UNKNOWN,
    Atom,
    Symbol,
    Tests,
    Value,
    cases_of,
    lift,
    one,
    pack,
    tested,
)


class Parameters(Expressions):
    fixtures: dict[str, Function]
    is_script: bool

    def parameters(
        self,
        function: Function,
        sites: Iterable[tuple[int, Tests, Env]],
        *,
        all_seen: bool = False,
    ) -> Env:
        """What parameters stand for: the callers' arguments joined, the default where one leaves
        it out or nobody is seen to call. Of a flag it counts where `all_seen` callers are."""
        arguments = function.node.args
        positional = positional_parameters(arguments)
        defaults: dict[str, ast.expr] = {
            item.arg: default
            for item, default in zip(
                positional[len(positional) - len(arguments.defaults) :],
                arguments.defaults,
                strict=True,
            )
        }
        defaults.update(
            (item.arg, default)
            for item, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
            if default is not None
        )
        sites = list(sites)
        # What one caller gives in some worlds is not given in those of another.
        apart = len({worlds for worlds, _, _ in sites if worlds}) > 1
        as_said = runs_with_defaults(function, self.fixtures, script=self.is_script)
        given: Env = {}
        for item in [*positional, *arguments.kwonlyargs]:
            name = item.arg
            default = defaults.get(name)
            value: Value = function.cases.get(name) or Atom(UNKNOWN, symbol=(function, name))
            if default is not None and name not in function.cases:
                value = (
                    self.e_Constant(default)
                    if isinstance(default, ast.Constant)
                    and (
                        as_said
                        or (all_seen and isinstance(default.value, bool))
                        or self._is_decided(function, default, name)
                    )
                    else self._default(function, default, name)
                )
            if sites:
                left_out = value
                if isinstance(default, ast.Constant) and isinstance(default.value, bool):
                    # Who turns a flag on or off is seen: the others leave it as it is.
                    if any(name in bound for _, _, bound in sites):
                        left_out = self.e_Constant(default)
                value = self._joined(name, left_out, sites, apart=apart)
                # Whatever it is that callers give, it is one thing in a run.
                if value.__class__ is not Atom:
                    value = lift(partial(_one_thing, (function, name)), value)
                elif value.kind == UNKNOWN and not value.tests:
                    symbol = value.symbol or (function, name)
                    value = Atom(UNKNOWN, symbol=symbol, unread=value.unread)
            given[name] = value
        if arguments.vararg is not None and sites:
            rest = arguments.vararg.arg
            every = [bound.get(rest, UNK) for _, _, bound in sites]
            parts = [self.items_of(value) for value in every]
            if len(every) == 1:
                given[rest] = every[0]
            elif all(one(value, ALL).kind == SEQUENCE for value in every):
                given[rest] = Atom(SEQUENCE, (self.items_of(Atom(SEQUENCE, tuple(parts))),))
        if arguments.kwarg is not None and sites:
            given.update(self._given_on(handed_on(arguments.kwarg.arg), sites, apart=apart))
        if function.cls is not None and positional and not function.static:
            given[positional[0].arg] = Atom(INSTANCE, function.cls)
            if function.node.name == "__getitem__" and len(positional) > 1:
                at = positional[1].arg
                if is_dataset(function.cls) and one(given[at], ALL).kind == UNKNOWN:
                    given[at] = lift(lambda atom: of_kind(atom, INTEGER), given[at])
        return given

    def _joined(
        self, name: str, default: Value, sites: Sequence[tuple[int, Tests, Env]], *, apart: bool
    ) -> Value:
        """What the callers give by a name, and the default where one leaves it out."""
        joined: Value | None = None
        for worlds, tests, bound in sites:
            here = bound.get(name, default)
            if apart:
                why = tests & self.own_tests  # a device hangs on what names it
                said = [(mask, tested(atom, why)) for mask, atom in cases_of(here, worlds)]
                here = pack([*said, (ALL & ~worlds, BOT)])
            joined = here if joined is None else lift(_either, joined, here)
        return joined if joined is not None else default

    def _given_on(self, table: str, sites: Sequence[tuple[int, Tests, Env]], *, apart: bool) -> Env:
        """What callers give that a function hands on; what one leaves out is not known."""
        held = [
            (worlds, tests, one(bound[table], ALL).v if table in bound else {})
            for worlds, tests, bound in sites
        ]
        names = dict.fromkeys(name for _, _, given in held for name in given)
        rest = {name: self._joined(name, UNK, held, apart=apart) for name in names}
        return {table: Atom(MAPPING, rest)} if rest else {}

    def _default(self, function: Function, default: ast.expr, name: str) -> Value:
        unknown = Atom(UNKNOWN, symbol=(function, name))
        if isinstance(default, ast.Constant):
            atom = one(self.e_Constant(default), ALL)
            if atom.kind == DEVICE:
                return atom.but(maybe=True)
            if atom.v is None or isinstance(atom.v, bool) or atom.kind != CONST:
                return unknown
            return atom.but(maybe=True)
        value = self._outside(function, default)
        return lift(partial(_may_be_other, unknown), value)

    def _outside(self, function: Function, node: ast.expr) -> Value:
        """What an expression is that stands for nothing of the function's own."""
        outer, was = self.frame, self.recording
        self.frame, self.recording = Frame({}, function.up), False
        value = self.eval(node)
        self.frame, self.recording = outer, was
        return value

    def _is_decided(self, function: Function, default: ast.Constant, name: str) -> bool:
        """Whether a function itself answers yes or no by what the machine has, where nobody says
        so: `if use_cuda is None: use_cuda = torch.cuda.is_available()`."""
        if default.value is not None and not isinstance(default.value, str):
            return False
        return any(
            atom.kind == CONST and isinstance(atom.v, bool) and bool(atom.tests)
            for taken in replacements(function.node, name, default)
            for _, atom in cases_of(self._outside(function, taken), MACS)
        )


def _may_be_other(unknown: Atom, atom: Atom) -> Atom:
    """A default in whose place callers may give something else; of a list of devices, other ones
    (`devices=["cpu"]`)."""
    if atom.kind in (DEVICE, MAPPING):
        return atom.but(maybe=True)
    if atom.kind == SEQUENCE and atom.v and all(map(_is_device, atom.v)):
        return atom.but(v=tuple(lift(lambda part: part.but(maybe=True), item) for item in atom.v))
    return unknown if atom.kind in (CONST, UNKNOWN) and not atom.tests else atom


def _is_device(item: Value) -> bool:
    """Whether a part of a list is a device, or names one."""
    atom = one(item, ALL)
    return atom.kind == DEVICE or (atom.kind == CONST and atom.v == "cpu")


def _one_thing(symbol: Symbol, atom: Atom) -> Atom:
    if atom.kind != UNKNOWN or atom.tests or atom.symbol is not None or atom is BOT:
        return atom
    return Atom(UNKNOWN, symbol=symbol)


def _either(one_gives: Atom, other_gives: Atom) -> Atom:
    """What a parameter is that two callers give. One who gives an array of float64 is enough, where
    of the other's it is not known what it is."""
    for mine, theirs in ((one_gives, other_gives), (other_gives, one_gives)):
        is_wide = mine.kind == ARRAY and mine.v == "float64"
        if is_wide and theirs.kind in (ARRAY, UNKNOWN) and theirs.v is None:
            return mine
        if mine.kind == TENSOR and mine.v[1] in NOT_ON_MPS and _is_given_beside(mine, theirs):
            return mine.but(unread=ONE_OF_THEM)
    return join(one_gives, other_gives)


def _is_given_beside(wide: Atom, other: Atom) -> bool:
    """Whether a function that is given this tensor is given another one there as well, or nobody
    knows what, or, as one that calls itself for each part, what holds such tensors."""
    if other.kind == TENSOR:
        return bool(other.v[0] == wide.v[0] and other.v[1] != wide.v[1])
    if other.kind in (UNKNOWN, HOST):
        return not other.tests
    return other.kind in (SEQUENCE, MAPPING) and tells(other)
