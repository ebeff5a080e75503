"""Runs of one function: what a call of it gives back, and what it leaves on objects."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from mpslint.facts.mocks import PATCH
from mpslint.facts.priors import package_worlds
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.syntax.parameters import defaults_of
from mpslint.semantics.worlds.core import MAX_DEPTH, MAX_STEPS
from mpslint.semantics.worlds.events import Kind
from mpslint.semantics.worlds.foreign import foreign, foreign_on_mps, foreign_worlds
from mpslint.semantics.worlds.functions_given import note_functions_given
from mpslint.semantics.worlds.joining import join, parted, port
from mpslint.semantics.worlds.machines import ALL, CUDA, MAC, NVIDIA
from mpslint.semantics.worlds.numbers import is_wide, tells
from mpslint.semantics.worlds.operators_for_cuda import calls_cuda_alone
from mpslint.semantics.worlds.parameters import Parameters
from mpslint.semantics.worlds.patched import target
from mpslint.semantics.worlds.runners import is_test
from mpslint.semantics.worlds.state import Env, Frame, Function, FunctionNode
from mpslint.semantics.worlds.values import (
    ARRAY,
    CONST,
    DEVICE,
    DTYPE,
    FUNCTION,
    INSTANCE,
    MODULE,
    NAME,
    NO_TESTS,
    NONE,
    SEQUENCE,
    SKIP,
    TENSOR,
    UNK,
    UNKNOWN,
    Atom,
    Cases,
    Tests,
    Value,
    cases_of,
    left_by_marks,
    one,
    pack,
    truth,
    where,
)

_TOLD_APART = frozenset({CONST, DEVICE, TENSOR, MODULE, ARRAY, DTYPE})

_TURNS = 4
"""A function that calls itself for parts of parts is followed so deep."""
MAX_CONTEXTS = 4
"""So many different constant arguments of one function are told apart."""
_DECORATED = ast.FunctionDef(
    "decorated",
    ast.arguments([], [], ast.arg("given"), [], [], ast.arg("named"), []),
    [ast.Pass()],
    [],
)
"""What a decorator is given to see whether it is run: whatever the arguments."""
_QUOTES = ("'", '"')


class Summaries(Parameters):
    functions: dict[FunctionNode, Function]
    fixtures: dict[str, Function]
    ends: dict[Function | None, int]
    """The worlds that come to the end of a function, or of the file."""

    def summary(self, function: Function, given: Env | None = None) -> tuple[Value, int]:
        """What a call gives, and the worlds that come back from it."""
        home: Summaries | None = function.home
        if home is None:
            return UNK, ALL  # Its file has been let go of.
        if home is not self:
            theirs = {name: foreign(value, ()) for name, value in (given or {}).items()}
            value, ends = home.summary(function, theirs)
            on_mps = foreign_on_mps(given) if given else None
            if on_mps is not None:
                home.summary(function, on_mps)  # What raises in it is noted.
            return foreign(value, self.nodes), foreign_worlds(ends)
        known = self._told_apart(function, given) if given else ()
        found_already = function.summaries.get(known)
        if found_already is not None:
            return found_already
        optional = _names_package(known)
        if known and not optional and len(function.summaries) >= MAX_CONTEXTS:
            known = ()
            if known in function.summaries:
                return function.summaries[known]
        if (
            (function.running and not self._goes_deeper(function, known, given))
            or self.depth >= MAX_DEPTH
            or not function.relevant
            or self.steps > MAX_STEPS
        ):
            return UNK, ALL
        arguments = self.parameters(function, ())
        if known and given is not None:
            arguments.update({name: given[name] for name, _ in known})
        if optional and given is not None:
            arguments.update(self.left_out(function, given))
        mark = len(self.noted)
        function.within.append(known)
        result = self.enter(function, ALL, NO_TESTS, arguments, recording=False)
        function.within.pop()
        function.summaries[known] = result
        function.noted[known] = tuple(self.noted[mark:])
        return result

    @staticmethod
    def _goes_deeper(function: Function, known: object, given: Env | None) -> bool:
        """Whether a function that calls itself is given a part of what it was given, which holds
        something wide: `{key: to_device(part) for key, part in batch.items()}`."""
        inside = function.within
        if known in inside or len(inside) >= _TURNS:
            return False
        return any(tells(value) or is_wide(value) for value in (given or {}).values())

    def note_functions_given(self, callee: Function, node: ast.Call, given: Env) -> None:
        note_functions_given(self, callee, node, given, here=self.frame.mask)
        for value in given.values() if callee.home is self else ():
            if value.__class__ is Atom and value.kind == FUNCTION and value.v.home is self:
                value.v.takers[callee] = None
        if not self.frame.caught and calls_cuda_alone(self, callee, given):
            self.owned(NVIDIA)

    def raising_in(self, function: Function, given: Env) -> dict[Kind, int]:
        """What raises on a Mac in a function that is called so: the worlds, by what it is."""
        home: Summaries | None = function.home
        if home is None or not function.noted:
            return {}
        ways = [given]
        if home is not self:
            ways = [{name: foreign(value, ()) for name, value in given.items()}]
            on_mps = foreign_on_mps(given)
            ways += [on_mps] if on_mps is not None else []
        found: dict[Kind, int] = {}
        for way in ways:
            for kind, worlds in function.noted.get(self._told_apart(function, way), ()):
                found[kind] = found.get(kind, 0) | worlds
        return found

    def left_out(self, function: Function, given: Env) -> Env:
        """The constants that parameters are by their defaults, of those that a call leaves out."""
        return {
            item.arg: self.e_Constant(default)
            for item, default in defaults_of(function.node.args)
            if isinstance(default, ast.Constant) and item.arg not in given
        }

    @staticmethod
    def _told_apart(function: Function, given: Env) -> tuple[tuple[str, object], ...]:
        """Arguments that are constants or devices: their callers get an answer of their own."""
        found = []
        # An object that another one is given when it is made computes what that keeps.
        makes = function.node.name == "__init__"
        apart = _TOLD_APART | {INSTANCE} if makes else _TOLD_APART
        for name, value in given.items():
            cases = tuple(cases_of(value))
            if any(
                atom.kind in apart or atom.placed is not None or tells(atom) for _, atom in cases
            ):
                key = tuple(
                    (worlds, atom.kind, repr(atom.v), atom.maybe, atom.placed, atom.unread)
                    for worlds, atom in cases
                )
                found.append((name, key))
        return tuple(sorted(found, key=lambda item: item[0]))

    def left_by_decorator(self, wrapper: Function, given: Env | None) -> int:
        """The worlds in which what a decorator gives back runs the function that it was given; all,
        where that is not seen. `given`: the arguments of the call that makes the decorator."""
        home: Summaries | None = wrapper.home
        if home is None or not wrapper.relevant or wrapper.running or self.depth >= MAX_DEPTH:
            return ALL
        if home is not self:
            theirs = given and {name: foreign(value, ()) for name, value in given.items()}
            return foreign_worlds(home.left_by_decorator(wrapper, theirs))
        # What stands in it is made anew: it keeps what this call was given.
        nested = [item for item in ast.walk(wrapper.node) if isinstance(item, FUNCTIONS)][1:]
        before = {item: self.functions.pop(item) for item in nested if item in self.functions}
        try:
            return self._left_by(wrapper, given)
        finally:
            for item in nested:
                self.functions.pop(item, None)
            self.functions.update(before)

    def _left_by(self, wrapper: Function, given: Env | None) -> int:
        if given is not None:
            arguments = {**self.parameters(wrapper, ()), **self.left_out(wrapper, given), **given}
            made, _ = self.enter(wrapper, ALL, NO_TESTS, arguments, recording=False)
            decorator = one(made, ALL)
            if decorator.kind != FUNCTION or decorator.v.home is not self:
                return left_by_marks(made)
            wrapper = decorator.v
        taken = wrapper.node.args.args
        if not taken or wrapper.running:
            return ALL
        function = Function(_DECORATED, None, [], ALL, NO_TESTS, self)
        function.relevant = False
        arguments = {**self.parameters(wrapper, ()), taken[0].arg: Atom(FUNCTION, function)}
        value, _ = self.enter(wrapper, ALL, NO_TESTS, arguments, recording=False)
        left = 0
        for worlds, atom in cases_of(value, ALL):
            if atom.kind == SKIP:
                left |= worlds & atom.v
            elif atom.kind != FUNCTION or atom.v is function or atom.v.home is not self:
                left |= worlds
            elif not atom.v.running:
                function.calls.clear()
                self.enter(atom.v, ALL, NO_TESTS, self.parameters(atom.v, ()), recording=False)
                for called, _, _ in function.calls.values():
                    left |= worlds & called
        return left or ALL

    @property
    def skips_errors(self) -> bool:
        """Whether a test of this file is skipped where torch raises for want of CUDA."""
        raise NotImplementedError

    def fixture_named(self, name: str) -> Function | None:
        raise NotImplementedError

    def fixture(self, function: Function) -> tuple[Value, int]:
        """What a fixture gives, and the worlds that come back from it and from those that it asks
        for."""
        home: Summaries | None = function.home
        if home is not None and home is not self:
            value, ends = home.fixture(function)
            return foreign(value, self.nodes), foreign_worlds(ends)
        value, ends = self.summary(function)
        arguments = function.node.args
        for item in (*arguments.args, *arguments.kwonlyargs):
            asked = self.fixture_named(item.arg)
            if asked is not None and asked is not function and not asked.running:
                asked.running = True
                ends &= self.fixture(asked)[1]
                asked.running = False
        return value, ends

    def enter(
        self,
        function: Function,
        mask: int,
        tests: Tests,
        given: Env,
        *,
        recording: bool,
        refused: int = 0,
        gate: ast.expr | None = None,
    ) -> tuple[Value, int]:
        """Runs a function's body: the value returned, the worlds that come back."""
        outer, was, mark = self.frame, self.recording, len(self.log)
        unsure, self.unsure = self.unsure, 0
        frame = self.frame = Frame(dict(given), function.up, mask, tests, function, function.cls)
        frame.starts = [mark]
        frame.refused, frame.gate = refused & ~mask, gate
        frame.testing = is_test(function)
        frame.skipping = self.skips_errors and function.node.name not in self.fixtures
        frame.patched = tuple(self._patched(function.node.decorator_list))
        self.recording = recording
        self.depth += 1
        running, function.running = function.running, True
        try:
            self.block(function.node.body)
            ends = frame.mask
            for worlds, _ in frame.returns:
                ends |= worlds
            if recording:
                self.keep_stored()
                self.ends[function] = ends
            function.own = function.own or frame.own
            function.end_tests |= frame.tests - tests
            value = self._returned(frame)
            if frame.yielded and not function.node.decorator_list:
                frame.returns, frame.mask = frame.yielded, 0
                value = Atom(SEQUENCE, (self._returned(frame),))
            if recording and not function.calls:
                # What somebody here calls is told of where it is used.
                frame.mask = mask & ends
                self.kept(value, function.node.name)
            if recording and len(frame.returns) > 1 and not parted(value, ends):
                self._keep_choices(frame, function.node.name)
            return value, ends
        finally:
            function.running = running
            self.depth -= 1
            self.frame, self.recording, self.unsure = outer, was, unsure

    def _keep_choices(self, frame: Frame, name: str) -> None:
        """What one `return` chooses between CUDA and another device, where the value of another
        (`return torch.device(f"cuda:{index}")`) covers that up in what the function hands back."""
        if any(
            where(atom) == "mps"
            for worlds, value in frame.returns
            for _, atom in cases_of(value, worlds & MAC)
        ):
            return  # It knows of MPS.
        for worlds, value in frame.returns:
            if value.__class__ is Cases and parted(value, worlds):
                frame.mask = worlds
                self.kept(value, name)

    def _patched(self, decorators: list[ast.expr]) -> Iterator[str]:
        """What of torch's stands aside while the function runs."""
        for decorator in decorators:
            replaced = target(decorator) if isinstance(decorator, ast.Call) else None
            if replaced is not None:
                assert isinstance(decorator, ast.Call)
                name = one(self.named_only(decorator.func), ALL)
                if name.kind == NAME and name.v == PATCH:
                    yield replaced

    @staticmethod
    def _returned(frame: Frame) -> Value:
        if not frame.returns:
            return NONE
        returns = list(frame.returns)
        if frame.mask:
            returns.append((frame.mask, NONE))
        cases: list[tuple[int, Atom]] = []
        for worlds, value in returns:
            new = list(cases_of(value, worlds))
            merged: list[tuple[int, Atom]] = []
            for mask, atom in cases:
                rest = mask
                for at, other in new:
                    if mask & at:
                        merged.append((mask & at, join(atom, other)))
                        rest &= ~at
                merged.append((rest, atom))
            seen = 0
            for mask, _ in cases:
                seen |= mask
            merged += [(mask & ~seen, atom) for mask, atom in new]
            cases = [(mask, atom) for mask, atom in merged if mask]
        return port(pack(cases))

    def keep_stored(self) -> None:
        """What a function, or the file, has left on objects when it ends; unless a Mac has mps
        there by then."""
        frame = self.frame
        saved = frame.mask, frame.tests, frame.arm
        told: set[str] = set()
        for key, value, mask, tests, arm, attribute in frame.stored:
            if saved[0] and key is not None:
                # As it is in the end, in the worlds that get there.
                last = frame.env.get(key)
                if key not in told:
                    told.add(key)
                    self.kept(UNK if last is None else last, attribute, attribute=True)
                if last is not value and (
                    _is_hidden(value, last, mask) or _is_hidden_flag(value, last, mask)
                ):
                    frame.mask, frame.tests, frame.arm = mask, tests, arm
                    self.kept(value, attribute, attribute=True)
                    frame.mask, frame.tests, frame.arm = saved
                continue
            frame.mask, frame.tests, frame.arm = mask, tests, arm
            self.kept(value, attribute, attribute=True)
        frame.mask, frame.tests, frame.arm = saved


def _names_package(known: tuple[tuple[str, Any], ...]) -> bool:
    """Whether an argument names a package that only some machines have: who imports packages by
    their names gives one answer for each of these, which are few."""
    return any(
        kind == CONST and text[:1] in _QUOTES and package_worlds(text[1:-1]) is not None
        for _, cases in known
        for _, kind, text, *_ in cases
    )


def _is_hidden_flag(flag: Value, last: Value | None, worlds: int) -> bool:
    """Whether a flag that asks for CUDA is among what an attribute ends up with, where that is open
    on CUDA: in another arm it is off."""
    if last is None:
        return False
    asked = {test for _, atom in cases_of(flag, worlds & CUDA) for test in atom.tests}
    return (
        all(atom.kind == CONST and type(atom.v) is bool for _, atom in cases_of(flag, worlds))
        and all(truth(atom) is False for _, atom in cases_of(flag, worlds & MAC))
        and any(
            atom.kind == UNKNOWN and not asked.isdisjoint(atom.tests)
            for _, atom in cases_of(last, worlds & CUDA)
        )
    )


def _is_hidden(choice: Value, last: Value | None, worlds: int) -> bool:
    """Whether a choice that leaves MPS out is among what an attribute ends up with, where that does
    not show it: on other ways it is a CUDA device on each machine, or nothing sets it (None)."""
    if not parted(choice, worlds) or (last is not None and parted(last, worlds)):
        return False
    if last is None:
        return True
    mine = {test for _, atom in cases_of(choice, worlds) for test in atom.tests}
    there = [atom for _, atom in cases_of(last, worlds & MAC)]
    return not any(where(atom) in ("mps", "?") for atom in there) and any(
        atom.kind == DEVICE and not mine.isdisjoint(atom.tests) for atom in there
    )
