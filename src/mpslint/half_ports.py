"""Ports that would stop half-way: what still keeps a Mac's GPU out of a program of which other
parts would go there.

A fix that brings tensors to MPS is worth making where nothing on its way still asks for CUDA alone:
code that it runs, or a program that runs it. What is left there raises, or stays on the CPU beside
what has moved. A fix that is not made for that reason is left itself, for others that need it.
"""

from __future__ import annotations

import ast
import os
from typing import TYPE_CHECKING, NamedTuple

from mpslint.facts.priors import matches
from mpslint.judging import Trace
from mpslint.kernel_imports import kernel_imports
from mpslint.left_behind import OPENING, Part, parts, programs
from mpslint.model import Confidence, Severity
from mpslint.opening import position
from mpslint.semantics.index import FUNCTIONS
from mpslint.semantics.parallel_batches import WRAPPING, left_to_wrapper

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from mpslint.fixer import Made
    from mpslint.landed import Applied
    from mpslint.model import Finding
    from mpslint.source import SourceFile

_WRAPPED = "is given what only DataParallel moves, and that to CUDA alone"
_OWN = "is in what is for CUDA by its name"
_MOVE = b".cuda("
_KERNELS = "needs kernels that are compiled for CUDA alone"
_MAX_TEXT = 60
Name = tuple[str, str, str]
"""A part of a project: its file, its class and its function; both are empty for the module."""


class Left(NamedTuple):
    """Something that still asks for CUDA once all fixes are made."""

    row: int
    path: str
    """Where the cause is: for a fix that is not made, what is in its way."""
    line: str
    """The line, as people read it."""
    message: str


class Opened(NamedTuple):
    """A fix that brings tensors to MPS."""

    key: tuple[str, int]
    row: int
    ran: bool
    """A Mac came there before, with its tensors on the CPU."""


class Ported(NamedTuple):
    """A file as it becomes."""

    before: ast.Module | None
    """Its tree as it was, in whose rows the fixes are told."""
    after: ast.Module | None
    opened: Sequence[Opened]
    left: Sequence[Left]


def keeps_out(finding: Finding) -> bool:
    """Whether a finding that is left keeps a Mac, or its GPU, out, for sure."""
    if finding.confidence is not Confidence.CERTAIN:
        return False
    if finding.severity is Severity.BREAKS:
        return True
    return finding.severity is Severity.IGNORES and finding.code.startswith(OPENING)


def untouched(path: str, findings: Iterable[Finding]) -> Ported:
    """A file that nothing is fixed in."""
    own = os.path.abspath(path)
    return Ported(None, None, (), [left_in(own, one) for one in findings if keeps_out(one)])


def left_in(path: str, finding: Finding) -> Left:
    """What a finding of the file at an absolute path leaves there."""
    return _left(finding, path, _spoken(finding.cell, finding.row))


def ported(source: SourceFile, made: Made, applied: Iterable[Applied]) -> Ported:
    """A file of which fixes made another text; those that were `applied` bring tensors to MPS."""
    trace = Trace(source, made.passes)
    left = []
    for one in made.findings:
        if keeps_out(one):
            cell, row, _ = position(source, trace.offset(made.source.starts[one.row - 1]))
            left.append(_left(one, os.path.abspath(source.path), _spoken(cell, row)))
    opened = [
        Opened(
            one.key,
            source.position(one.at)[0],
            one.severity < Severity.BREAKS,
        )
        for one in applied
    ]
    return Ported(source.parse(), made.source.parse(), opened, left)


def _left(finding: Finding, path: str, line: str) -> Left:
    return Left(finding.row, path, line, finding.message)


def _spoken(cell: int | None, row: int) -> str:
    return f"line {row}" if cell is None else f"line {row} of cell {cell}"


class HalfPorts:
    """The files of a project by absolute path, and what of them would be ported by halves."""

    def __init__(
        self,
        files: dict[str, Ported],
        tree_of: Callable[[str], ast.Module | None],
        text_of: Callable[[str], bytes],
        led_to: Callable[[str], Iterable[str]],
        starting: Iterable[str],
        imports_on: Callable[[str, str], int],
    ) -> None:
        """`led_to` gives the modules that a file imports, and they in turn; `starting` are the
        files that may be programs; `imports_on` tells the worlds in which a file can import a
        module."""
        self._files = files
        self._tree_of = tree_of
        self._text_of = text_of
        self._led_to = led_to
        self._starting = list(starting)
        self._imports_on = imports_on
        self._parts: dict[str, list[Part]] = {}
        self._programs: dict[str, list[Part]] = {}
        self._leading: dict[str, list[str]] = {}
        self._defined: dict[str, frozenset[str]] = {}
        self._naming: dict[str, frozenset[str]] = {}
        self._left: dict[Name, list[Left]] = {}
        self._ways: dict[Name, dict[Name, None]] = {}

    def found(self) -> dict[str, dict[tuple[str, int], str]]:
        """By file the fixes that had better not be made, each with what is left on its way."""
        doubted: dict[str, dict[tuple[str, int], str]] = {}
        open_: list[tuple[str, Name, Opened]] = []
        for path, file in self._files.items():
            for left in (
                *file.left,
                *self._left_to_wrapper(path),
                *self._left_to_kernels(path),
                *self._left_by_name(path),
            ):
                self._left.setdefault(self._name(path, file.after, left.row), []).append(left)
            open_ += [(path, self._name(path, file.before, one.row), one) for one in file.opened]
        before = -1
        while self._left and len(open_) != before:
            before, rest = len(open_), open_
            open_ = []
            for path, name, one in rest:
                blocked = self._on_the_way(name, one)
                if blocked is None:
                    open_.append((path, name, one))
                    continue
                doubted.setdefault(path, {})[one.key] = _sentence(blocked, path)
                here = blocked._replace(row=one.row)
                self._left.setdefault(name, []).append(here)
        return doubted

    def _left_to_wrapper(self, path: str) -> Iterator[Left]:
        """What only `DataParallel` has moved, where the program has one."""
        tree = self._tree(path)
        calls = list(left_to_wrapper(tree)) if tree is not None else []
        if calls and any(
            WRAPPING in self._text_of(user) and (user == path or path in self._led(user))
            for user in self._starting
        ):
            for call in calls:
                line = f"line {call.lineno}"
                yield Left(call.lineno, path, line, f"{ast.unparse(call)[:_MAX_TEXT]} {_WRAPPED}")

    def _left_to_kernels(self, path: str) -> Iterator[Left]:
        """The kernels that its functions ask for when they are called."""
        tree = self._tree(path)
        if tree is None:
            return
        for node in kernel_imports(tree, lambda module: self._imports_on(path, module)):
            text = ast.unparse(node)[:_MAX_TEXT]
            yield Left(node.lineno, path, f"line {node.lineno}", f"{text} {_KERNELS}")

    def _left_by_name(self, path: str) -> Iterator[Left]:
        """What functions and classes move that are CUDA's own by their name, of which no rule
        speaks."""
        tree = self._tree(path) if _MOVE in self._text_of(path) else None
        for own in ast.walk(tree) if tree is not None else ():
            if isinstance(own, (*FUNCTIONS, ast.ClassDef)) and matches("definitions", own.name):
                for node in ast.walk(own):
                    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                        if node.func.attr == "cuda":
                            text = ast.unparse(node)[:_MAX_TEXT]
                            line = f"line {node.lineno}"
                            yield Left(node.lineno, path, line, f"{text} {_OWN}")

    def _on_the_way(self, name: Name, one: Opened) -> Left | None:
        """What is left where a fix would bring tensors, or where programs that come to it are."""
        left = self._left_on(self._way_from(name))
        if left is not None:
            return left
        found = []
        for program in self._programs_that_run(name):
            way = self._way_from(program)
            if one.ran:
                # Its callers' tensors stay where they were, and would meet those on MPS.
                callers = [
                    other for other in way if other in self._left and name in self._way_from(other)
                ]
                beside = self._left_on(callers)
                if beside is not None:
                    return beside
            found.append(self._left_on(way))
        return found[0] if found and None not in found else None

    def _left_on(self, way: Iterable[Name]) -> Left | None:
        return next((left for other in way for left in self._left.get(other, ())), None)

    def _way_from(self, name: Name) -> dict[Name, None]:
        """The parts that run where this one does, itself among them."""
        if name not in self._ways:
            path, owner, _ = name
            own = [one for one in self._parts_of(path) if _is_same(one, name)]
            own += [one for one in self._programs_of(path) if not name[1] and not name[2]]
            names = frozenset({owner} - {""}).union(*(one.names for one in own))
            self._ways[name] = {name: None, **self._reached_from(path, names)}
        return self._ways[name]

    def _reached_from(self, path: str, names: frozenset[str]) -> dict[Name, None]:
        """The parts that code of a file may run that uses these names. A name means what its own
        file gives it."""
        files = (path, *self._led(path))
        known: dict[str, set[str]] = {other: set() for other in files}
        waiting = {other: self._parts_of(other) for other in files}
        found: dict[Name, None] = {}
        new = [(path, names)]
        changed = set(files)
        while new:
            used: dict[str, set[str]] = {}
            for user, used_there in new:
                used.setdefault(user, set()).update(used_there)
            foreign = set().union(*(names - self._defined_in(user) for user, names in used.items()))
            for other in files:
                more = self._names_of_parts(other) & (foreign | used.get(other, set()))
                if not more <= known[other]:
                    known[other] |= more
                    changed.add(other)
            new = []
            for other in files:
                if other in changed:
                    rest = []
                    for part in waiting[other]:
                        if part.is_run(known[other]):
                            found[other, part.owner, part.name] = None
                            new.append((other, part.names))
                        else:
                            rest.append(part)
                    waiting[other] = rest
            changed = set()
        return found

    def _names_of_parts(self, path: str) -> frozenset[str]:
        """The names by which parts of a file are run."""
        if path not in self._naming:
            found = self._parts_of(path)
            self._naming[path] = frozenset(name for one in found for name in (one.owner, one.name))
        return self._naming[path]

    def _defined_in(self, path: str) -> frozenset[str]:
        if path not in self._defined:
            self._defined[path] = frozenset(
                one.owner or one.name for one in self._parts_of(path)
            ) - {""}
        return self._defined[path]

    def _programs_that_run(self, name: Name) -> list[Name]:
        """What is started to come there: scripts, and the tests of a file that nobody imports."""
        found = []
        for path in self._starting:
            if path == name[0] or name[0] in self._led(path):
                starts = [(path, "", "")] if self._programs_of(path) else []
                tests = filter(_is_test, self._parts_of(path))
                starts += [(path, one.owner, one.name) for one in tests]
                found += [start for start in starts if name in self._way_from(start)]
        return found

    def _led(self, path: str) -> list[str]:
        if path not in self._leading:
            self._leading[path] = list(self._led_to(path))
        return self._leading[path]

    def _tree(self, path: str) -> ast.Module | None:
        file = self._files.get(path)
        return file.after if file is not None else self._tree_of(path)

    def _parts_of(self, path: str) -> list[Part]:
        if path not in self._parts:
            tree = self._tree(path)
            found = parts(tree) if tree is not None else []
            # Of a table's rows one is chosen, and the others are not on its way.
            self._parts[path] = [one for one in found if not one.is_table]
        return self._parts[path]

    def _programs_of(self, path: str) -> list[Part]:
        if path not in self._programs:
            tree = self._tree(path)
            found = programs(tree) if tree is not None else []
            self._programs[path] = [one for one in found if not one.is_table]
        return self._programs[path]

    def _name(self, path: str, tree: ast.Module | None, row: int) -> Name:
        for one in parts(tree) if tree is not None else ():
            if one.first <= row <= one.last:
                return path, one.owner, one.name
        return path, "", ""


def _is_test(part: Part) -> bool:
    return part.name.startswith("test") and (not part.owner or part.owner.startswith("Test"))


def _sentence(left: Left, path: str) -> str:
    where = left.line if left.path == path else f"{os.path.basename(left.path)}, {left.line}"
    return f"{where}: {left.message}"


def _is_same(one: Part, name: Name) -> bool:
    return (one.owner, one.name) == name[1:] or bool(one.owner and one.owner == name[1])
