"""Which machines pytest runs a file's tests on, as the files say that it reads before: fixtures
that skip, whole folders that it leaves out."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from functools import cached_property
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.syntax.paths import is_test as is_test_file
from mpslint.semantics.worlds.events import Kind
from mpslint.semantics.worlds.foreign import foreign_worlds
from mpslint.semantics.worlds.machines import ALL, MAC, PORTED
from mpslint.semantics.worlds.runners import PREPARING
from mpslint.semantics.worlds.skipped_errors import is_dealt_with_by, lacking, skipped_errors
from mpslint.semantics.worlds.state import Class, Function
from mpslint.semantics.worlds.summaries import Summaries
from mpslint.semantics.worlds.values import (
    CONST,
    FUNCTION,
    SEQUENCE,
    UNK,
    Value,
    cases_of,
    one,
    truth,
)

if TYPE_CHECKING:
    from mpslint.semantics.worlds.interpreter import Interpreter

# Fact: pytest's names for what a module says of its collection.
_LEFT_OUT = ("collect_ignore", "collect_ignore_glob")
_HOOK = "pytest_ignore_collect"
_MARKS = "pytestmark"
_USING = "usefixtures"
_FIXTURES = 4
"""So many fixtures are followed that ask for each other."""


class Collected(Summaries):
    automatic: list[Function]
    classes: dict[ast.ClassDef, Class]

    @cached_property
    def _shared(self) -> list[Interpreter]:
        """The `conftest.py` around this file; the nearest first."""
        if self.project is None or not is_test_file(self.project.path):
            return []
        return self.project.shared_by_tests()

    @cached_property
    def skips_errors(self) -> bool:
        """Whether a hook of a `conftest.py` around skips what raises for want of CUDA."""
        return any(is_dealt_with_by(skipped_errors(conftest.tree)) for conftest in self._shared)

    def is_skipped(self, kind: Kind, worlds: int, name: str, value: Value) -> bool:
        here = self.frame.mask & MAC
        return bool(here) and lacking(kind, worlds & here, name, value) == here

    def collected_on(self) -> int:
        """The worlds in which pytest collects this file: a `conftest.py` around it may skip all
        that lies there, or leave some of it out."""
        left = ALL
        for conftest in self._shared:
            assert self.project is not None
            theirs = conftest.frame.mask & conftest.collects(self.project.path)
            left &= _about_cuda(foreign_worlds(theirs))
        return left

    def collects(self, path: str) -> int:
        """The worlds in which this `conftest.py` lets pytest read the file at `path`."""
        left = ALL
        assert self.project is not None
        base = os.path.dirname(os.path.abspath(self.project.path))
        within = os.path.relpath(os.path.abspath(path), base).replace(os.sep, "/")
        for name in _LEFT_OUT:
            for worlds, atom in cases_of(self.frame.env.get(name, UNK)):
                if atom.kind == SEQUENCE and any(_names(item, within) for item in atom.v):
                    left &= ~worlds
        hook = one(self.frame.env.get(_HOOK, UNK), ALL)
        if hook.kind == FUNCTION:
            for worlds, atom in cases_of(self.summary(hook.v)[0]):
                left &= ~worlds if truth(atom) is True else ALL
        return left

    def fixture_named(self, name: str) -> Function | None:
        """The fixture that a test of this file gets under a name: the nearest one."""
        for around in (self, *self._shared):
            found = around.fixtures.get(name)
            if found is not None:
                return found
        return None

    def used_by(self, test: Function) -> Iterator[Function]:
        """The fixtures that pytest runs before a test which does not ask for them by a parameter,
        and those of other files that it asks for so."""
        yield from self.automatic
        for conftest in self._shared:
            for fixture in conftest.automatic:
                if self.fixture_named(fixture.node.name) is fixture:
                    yield fixture
        arguments = test.node.args
        names = [item.arg for item in (*arguments.args, *arguments.kwonlyargs)]
        asked = [name for name in names if name not in self.fixtures and name not in test.cases]
        for name in (*asked, *self._named_by_marks(test)):
            found = self.fixture_named(name)
            if found is not None:
                yield found

    def asked_on(self, fixture: Function) -> int:
        """The worlds in which pytest runs a test of this file that asks for a fixture of the file,
        itself or by way of another one; all, where none does, since those of other files may."""
        return self._asked_on(fixture, _FIXTURES) or ALL

    def _asked_on(self, fixture: Function, depth: int) -> int:
        name, left = fixture.node.name, 0
        if fixture in self.automatic or not depth:
            return ALL
        for function in self.functions.values():
            if function is fixture:
                continue
            arguments = function.node.args
            asks = any(item.arg == name for item in (*arguments.args, *arguments.kwonlyargs))
            if self.fixtures.get(function.node.name) is function:
                left |= self._asked_on(function, depth - 1) if asks else 0
            elif function.node.name.startswith("test"):
                asks = (asks and name not in function.cases) or name in self._named_by_marks(
                    function
                )
                left |= function.mask if asks else 0
        return left

    def tested_on(self, owner: ast.AST) -> int:
        """The worlds in which tests of a class are run, which are what looks at the attributes that
        it has beside them: those that come back from what is run before each."""
        left, cls = ALL, self.classes.get(owner)  # type: ignore[call-overload]
        for name in PREPARING if cls is not None else ():
            prepared = cls.methods.get(name)
            if prepared is not None:
                left &= _about_cuda(self.summary(prepared)[1])
        return left

    def left_by_fixture(self, fixture: Function) -> int:
        """The worlds that come back from a fixture. One that asks for CUDA is about CUDA, no port's
        choice, where a test is not given what it returns."""
        return _about_cuda(self.fixture(fixture)[1])

    def _named_by_marks(self, test: Function) -> Iterator[str]:
        marks = [*test.node.decorator_list, *_kept_marks(self.tree.body)]
        if test.cls is not None:
            marks += [*test.cls.node.decorator_list, *_kept_marks(test.cls.node.body)]
        for mark in marks:
            if isinstance(mark, ast.Call) and last_name(mark.func) == _USING:
                for item in mark.args:
                    if isinstance(item, ast.Constant) and isinstance(item.value, str):
                        yield item.value


def _about_cuda(worlds: int) -> int:
    return worlds if worlds & MAC else worlds & ~PORTED


def _kept_marks(body: Iterable[ast.stmt]) -> Iterator[ast.expr]:
    """`pytestmark = pytest.mark.usefixtures("gpu")`, or a list of such marks."""
    for statement in body:
        if not isinstance(statement, ast.Assign):
            continue
        if any(isinstance(item, ast.Name) and item.id == _MARKS for item in statement.targets):
            value = statement.value
            yield from value.elts if isinstance(value, ast.List | ast.Tuple) else (value,)


def _names(item: Value, path: str) -> bool:
    atom = one(item, ALL)
    if atom.kind != CONST or not isinstance(atom.v, str):
        return False
    return fnmatch(path, atom.v) or path.startswith(f"{atom.v.rstrip('/')}/")
