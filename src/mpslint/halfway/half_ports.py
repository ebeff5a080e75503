"""Ports that would stop half-way: what still keeps a Mac's GPU out of a program of which other
parts would go there.

A fix that brings tensors to MPS is worth making where nothing on its way still asks for CUDA alone:
code that it runs, or a program that runs it. What is left there raises, or stays on the CPU beside
what has moved. A fix that is not made for that reason is left itself, for others that need it.
"""

from __future__ import annotations

import ast
from collections import Counter
from functools import cached_property, partial
from typing import TYPE_CHECKING

from mpslint.halfway.file_parts import (
    PROGRAM,
    Parts,
    is_same,
    is_test,
    moves_by_name,
    name_at,
    placed_parts,
)
from mpslint.halfway.ported_files import Against, Left, Opened
from mpslint.halfway.unread_arrays import is_of_dtype
from mpslint.halfway.unread_steps import by_file, takes_files
from mpslint.halfway.ways import Name, Ways
from mpslint.halfway.wrapped_runs import WrappedRuns
from mpslint.project.compiled.kernel_imports import imports_inside, kernel_imports
from mpslint.semantics.processes.parallel_batches import WRAPPING
from mpslint.semantics.processes.wrapped_models import moved_by_wrapper, stays_there
from mpslint.semantics.syntax.expressions import only_defines
from mpslint.semantics.syntax.paths import is_test as is_test_path
from mpslint.sources.files import spoken_path
from mpslint.sources.screening import names_torch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mpslint.halfway.ported_files import Ported
    from mpslint.halfway.program_files import ProgramFiles
    from mpslint.project.runs.left_behind import Part

_WRAPPED = "is given what only DataParallel moves, and that to CUDA alone"
_WRAPS = "leaves its model on the CPU where there is no CUDA, and nothing else moves it"
_OWN = "is in what is for CUDA by its name"
_UNREAD = "raises where there is no CUDA"
_MOVE = b".cuda("
_KERNELS = "needs kernels that are compiled for CUDA alone"
_OBJECTS, _CUDA_CALLS = "MPS205", "MPS102"
_MAX_TEXT = 60
_TAKES = "runs files that it finds by their names, of which this may be one"


class HalfPorts:
    """The files of a project by absolute path, and what of them would be ported by halves."""

    def __init__(
        self,
        files: dict[str, Ported],
        program: ProgramFiles,
        starting: Iterable[str],
    ) -> None:
        """`program` knows what files hold and lead to; `starting` may be programs."""
        self._files = files
        self._program = program
        self._text_of = program.text_of
        self._starting = list(starting)
        self._parts: dict[str, Parts] = {}
        self._at_hand: tuple[str, ast.Module] | None = None
        """The file that was asked for last, with its tree: what is asked of one stands in a row."""
        self._before: dict[str, list[Part] | None] = {}
        """The parts of files as they were; None: as they are."""
        self._leading: dict[str, dict[str, None]] = {}
        self._wrapped = WrappedRuns(self._starting, self._text_of, self._tree, self._led)
        self._reached = Ways(self._parts_of, self._led)
        self._left: dict[Name, list[Left]] = {}
        self._ways: dict[Name, dict[Name, None]] = {}
        self._used: dict[Name, frozenset[str]] = {}
        self._taken: dict[str, Left | None] = {}

    def release(self) -> None:
        """Lets go of all that is known, whose parts know each other, once it has been told."""
        vars(self).clear()

    def found(self) -> dict[str, dict[tuple[str, int], Against]]:
        """By file the fixes that had better not be made, each with what is left on its way."""
        doubted: dict[str, dict[tuple[str, int], Against]] = {}
        open_: list[tuple[str, Name, Opened]] = []
        concerned = self._concerned()
        opened = [one for file in self._files.values() for one in file.opened]
        is_brought = any(one.brings for one in opened)
        others = (path for path in sorted(concerned) if path not in self._files)
        for path in (*(path for path in self._files if path in concerned), *others):
            for left in self._left_in(path, is_brought=is_brought if opened else None):
                self._left.setdefault(self._name(path, left.row), []).append(left)
            if opened and self._at_hand is not None and self._at_hand[0] == path:
                self._of(path)  # A way will ask for it, and would parse the file once more.
            for one in self._files[path].opened if path in self._files else ():
                open_.append((path, self._name_before(path, one.row), one))
        if open_:
            for path, name, one in open_:
                taken = self._taken_by(path) if one.brings and one.ran else None
                if taken is not None:
                    self._left.setdefault(name, []).append(taken._replace(row=one.row))
        before = -1
        while self._left and len(open_) != before:
            before, rest = len(open_), open_
            open_ = []
            for path, name, one in rest:
                blocked = self._on_the_way(name, one) if one.brings else None
                if blocked is None:
                    open_.append((path, name, one))
                    continue
                against = Against(_sentence(blocked, path), one.is_undone_by(blocked))
                doubted.setdefault(path, {})[one.key] = against
                self._left.setdefault(name, []).append(one.left_unmade(blocked))
        for path, name, one in open_ if self._left else ():
            blocked = None if one.brings else self._on_the_way(name, one)
            if blocked is not None:
                doubted.setdefault(path, {})[one.key] = Against(_sentence(blocked, path))
        return doubted

    def _left_in(self, path: str, *, is_brought: bool | None) -> Iterator[Left]:
        """What is left in one file, of which the tree is at hand meanwhile; `is_brought`: whether a
        tensor is brought to MPS anywhere, None where no fix is asked about."""
        file = self._files.get(path)
        if file is not None:
            yield from file.left
        if file is not None or is_brought:
            yield from self._left_to_wrapper(path)  # A loop that moves nothing has no finding.
        if file is not None:
            yield from self._left_to_kernels(path)
            yield from self._left_by_name(path)
        if is_brought is not None:
            yield from self._left_in_doubt(path, is_brought=is_brought)

    def _concerned(self) -> set[str]:
        """The files on the way of a fix that brings tensors to MPS: those that its file leads to,
        and those that programs lead to which come there."""
        found: set[str] = set()
        opening = {path for path, file in self._files.items() if file.opened}
        for path in opening:
            found.update((path, *self._led(path)))
        for path in self._starting:
            led = self._led(path)
            if path in opening or not opening.isdisjoint(led):
                found.update((path, *led))
        return found

    def _left_to_wrapper(self, path: str) -> Iterator[Left]:
        """What only `DataParallel` has moved, where the program has one, and what it wraps."""
        for call in self._wrapped.left_in(path):
            line = self._program.line_of(path, call.lineno)
            yield Left(call.lineno, path, line, f"{ast.unparse(call)[:_MAX_TEXT]} {_WRAPPED}")
        tree = self._tree(path) if WRAPPING in self._text_of(path) else None
        stays = partial(self._stays, path)
        for call in moved_by_wrapper(tree, stays) if tree is not None else ():
            text = f"{ast.unparse(call)[:_MAX_TEXT]} {_WRAPS}"
            line = self._program.line_of(path, call.lineno)
            yield Left(call.lineno, path, line, text, raises=False)

    def _stays(self, path: str, module: str, name: str) -> bool:
        """Whether a class of another module moves nothing, as the file at `path` names them."""
        file = self._program.file_of(path, module)
        tree = self._program.tree_of(file) if file is not None else None
        body = tree.body if tree is not None else ()
        classes = [item for item in body if isinstance(item, ast.ClassDef) and item.name == name]
        return bool(classes) and all(map(stays_there, classes))

    def _left_to_kernels(self, path: str) -> Iterator[Left]:
        """The kernels that its functions ask for when they are called."""
        tree = self._tree(path) if imports_inside(self._text_of(path)) else None
        if tree is None:
            return
        for node in kernel_imports(tree, lambda module: self._program.imports_on(path, module)):
            text = ast.unparse(node)[:_MAX_TEXT]
            line = self._program.line_of(path, node.lineno)
            yield Left(node.lineno, path, line, f"{text} {_KERNELS}")

    def _left_in_doubt(self, path: str, *, is_brought: bool) -> Iterator[Left]:
        """What nothing explains: it may raise for a tensor on MPS, where one is brought there."""
        file = self._files.get(path)
        found = self._program.doubts(path, lambda: self._tree(path)) if is_brought else []
        was: dict[str, int] = {}
        if found and file is not None and file.before is not None and file.before != file.after:
            was = {one.text: one.row for one in self._program.doubts(path, file.before)}
        for row, text, only_if_ran, beside, at, splits in found:
            if is_of_dtype(text) and self._is_mended(path, row, at):
                continue
            line = self._program.line_of(path, was.get(text, row))
            left = Left(row, path, line, text, raises=False, is_doubt=True)
            yield left._replace(only_if_ran=only_if_ran, beside=beside, splits=splits)
        mended = frozenset(_fixed(file, _OBJECTS))
        for row, text in self._program.ends(path, lambda: self._tree(path)):
            if row in mended:
                continue
            yield Left(row, path, self._program.line_of(path, row), text, is_untold=True)

    def _is_mended(self, path: str, row: int, at: int) -> bool:
        """Whether a move of a file is cast first by fixes that are still to be made: one in this
        row, or one `at` a row of another file, by a function of that."""
        paths = (path, *self._led(path)) if at else (path,)
        return any((at or row) in self._files[one].mended for one in paths if one in self._files)

    def _taken_by(self, path: str) -> Left | None:
        """What may run a file that does nothing itself and that no import leads to: a program that
        takes files by a text. What else that does with the file's device nobody sees."""
        if path not in self._taken:
            self._taken[path] = self._loader_of(path)
        return self._taken[path]

    def _loader_of(self, path: str) -> Left | None:
        file = self._files.get(path)
        before = file.before() if file is not None and file.before is not None else None
        tree = before or self._tree(path)
        if tree is None or not only_defines(tree):
            return None
        others = [other for other in self._program.around(path) if other != path]
        if any(path in self._led(other) for other in others):
            return None
        for other in others:
            text = self._text_of(other)
            loader = next(by_file(self._tree(other)), None) if takes_files(text) else None
            if loader is not None:
                line = self._program.line_of(other, loader.lineno)
                message = f"{ast.unparse(loader)[:_MAX_TEXT]} {_TAKES}"
                return Left(loader.lineno, other, line, message, raises=False, is_doubt=True)
        return None

    def _left_by_name(self, path: str) -> Iterator[Left]:
        """What functions and classes move that are CUDA's own by their name, and all that a file
        moves which never names torch: no rule speaks of these."""
        text = self._text_of(path)
        tree = self._tree(path) if _MOVE in text else None
        unread = not names_torch(text)
        for call in moves_by_name(tree, every=unread) if tree is not None else ():
            told = f"{ast.unparse(call)[:_MAX_TEXT]} {_UNREAD if unread else _OWN}"
            # Who goes on without CUDA may never call what has its name.
            line = self._program.line_of(path, call.lineno)
            yield Left(call.lineno, path, line, told, raises=unread)

    def _on_the_way(self, name: Name, one: Opened) -> Left | None:
        """What is left where a fix would bring tensors, or where programs that come to it are."""
        way = self._way_from(name)
        left = self._left_on(way, one, way)
        if left is not None:
            return left
        # Its callers' tensors stay where they were, and would meet those on MPS.
        beside = self._callers(name) if one.ran and one.brings else frozenset()
        may_end = one.ran and one.brings and self._may_end
        found: list[Left | None] = []
        scripts = False
        for program, is_tests in self._programs_that_run(name):
            unasked = is_tests and scripts and one.brings
            if unasked and not beside and not may_end:
                break  # That a test comes there is worth nothing where no program does.
            scripts = scripts or not is_tests
            way = self._way_from(program)
            if not beside.isdisjoint(way):
                return self._left_on((other for other in way if other in beside), one, way)
            ending = self._ending_on_mps(way) if may_end else None
            if ending is not None:
                return ending  # It ran on the CPU, whatever others gain.
            left = self._left_on(way, one, way)
            if left is None and not beside and not may_end:
                return None
            if not unasked:
                found.append(left)
        if not found and one.brings:
            return self._left_on(self._around_callers(name), one)
        return found[0] if found and None not in found else None

    def _around_callers(self, name: Name) -> Iterator[Name]:
        """Where no program is known: what is left in classes that come here, and in modules."""
        for path in dict.fromkeys(path for path, _, _ in self._left):
            coming = [
                (path, part.owner, part.name)
                for part in self._parts_of(path)
                if path != name[0] and self._leads((path, part.owner, part.name), name)
            ]
            owners = {owner for _, owner, _ in coming if owner}
            for other in self._left:
                if coming and other[0] == path:
                    if other in coming or other[1] in owners or not (other[1] or other[2]):
                        yield other

    @property
    def _may_end(self) -> bool:
        return any(one.raises_on_mps for left in self._left.values() for one in left)

    def _ending_on_mps(self, way: dict[Name, None]) -> Left | None:
        """Where a program ends that went on as long as its tensors were on the CPU."""
        every = [left for other in way for left in self._left.get(other, ()) if _runs(left, way)]
        if any(left.raises for left in every):
            return None
        return next((left for left in every if left.raises_on_mps), None)

    def _callers(self, name: Name) -> frozenset[Name]:
        """What is left in parts that lead to this one."""
        return frozenset(other for other in self._left if self._leads(other, name))

    def _left_on(
        self, names: Iterable[Name], one: Opened, way: dict[Name, None] | None = None
    ) -> Left | None:
        """What is left in parts, all of them on the way of a program where that is known; what is
        sure to raise or to stay says more than what is in doubt."""
        every = (left for other in names for left in self._left.get(other, ()) if _runs(left, way))
        doubt = None
        for left in filter(one.is_kept_out_by, every):
            if not left.is_doubt:
                return left
            if doubt is None or (left.splits and not doubt.splits):
                doubt = left
        return doubt

    def _way_from(self, name: Name) -> dict[Name, None]:
        """The parts that run where this one does, itself among them."""
        if name not in self._ways:
            way = self._reached.reached(name[0], self._names_used(name))
            self._ways[name] = {name: None, **self._own_module(name), **way}
        return self._ways[name]

    def _leads(self, start: Name, name: Name) -> bool:
        """Whether a part runs where another does: asked of many, of which few do."""
        if start == name:
            return True
        if start in self._ways:
            return name in self._ways[start]
        if name in self._own_module(start):
            return True
        return self._reached.runs(start[0], self._names_used(start), name)

    @staticmethod
    def _own_module(name: Name) -> dict[Name, None]:
        """What a program runs beside what its names lead to: the file that it is."""
        path, _, own = name
        return {(path, "", ""): None} if own == PROGRAM else {}

    def _names_used(self, name: Name) -> frozenset[str]:
        """The names that a part uses."""
        known = self._used.get(name)
        if known is None:
            path, owner, called = name
            own = [one for one in self._parts_of(path) if is_same(one, name)]
            own += self._programs_of(path) if called == PROGRAM else []
            known = frozenset({owner} - {""}).union(*(one.names for one in own))
            self._used[name] = known
        return known

    def _programs_that_run(self, name: Name) -> Iterator[tuple[Name, bool]]:
        """What is started to come there, and whether by a runner of tests: scripts, and the tests
        of a file that by its name holds some; these come last."""
        for path, is_tests in self._started.get(name[0], ()):
            starts = [(path, "", PROGRAM)] if self._programs_of(path) else []
            # A runner finds none in `train.py`, where `test_model(model, data)` is called.
            tests = filter(is_test, self._parts_of(path))
            starts += [(path, one.owner, one.name) for one in tests if is_tests or one.owner]
            for start in starts:
                if self._leads(start, name):
                    yield start, is_tests

    @cached_property
    def _started(self) -> dict[str, list[tuple[str, bool]]]:
        """By file: what may be a program that comes there, and whether it is a test's; these come
        last. It is asked for each part of each file, of which a project has many."""
        found: dict[str, list[tuple[str, bool]]] = {}
        known = [(path, is_test_path(path)) for path in self._starting]
        for one in sorted(known, key=lambda one: one[1]):
            for path in {one[0]: None, **self._led(one[0])}:
                found.setdefault(path, []).append(one)
        return found

    def _led(self, path: str) -> dict[str, None]:
        if path not in self._leading:
            self._leading[path] = dict.fromkeys(self._program.led_to(path))
        return self._leading[path]

    def _tree(self, path: str) -> ast.Module | None:
        if self._at_hand is not None and self._at_hand[0] == path:
            return self._at_hand[1]
        self._at_hand = None
        file = self._files.get(path)
        after = file.after() if file is not None and file.after is not None else None
        tree = after if after is not None else self._program.tree_of(path)
        if tree is not None:
            self._at_hand = path, tree
        return tree

    def _of(self, path: str) -> Parts:
        """What a file is made of: it is put together once, for its tree is not kept."""
        if path not in self._parts:
            moves = Counter(_fixed(self._files.get(path), _CUDA_CALLS))
            self._parts[path] = Parts.of(self._tree(path), moves)
        return self._parts[path]

    def _parts_of(self, path: str) -> list[Part]:
        return self._of(path).parts

    def _programs_of(self, path: str) -> list[Part]:
        return self._of(path).programs

    def _name(self, path: str, row: int) -> Name:
        return name_at(path, row, self._of(path).all)

    def _name_before(self, path: str, row: int) -> Name:
        """The part that has a row of the file as it was."""
        if path not in self._before:
            before = self._files[path].before
            tree = before() if before is not None else None
            self._before[path] = placed_parts(tree) if tree is not None else None
        known = self._before[path]
        if known is None:
            return self._name(path, row)
        name = name_at(path, row, known)
        # A constant that chooses by now (`DEVICE = "cuda"`) is what the module does.
        return name if any(is_same(one, name) for one in self._of(path).all) else (path, "", "")


def _fixed(file: Ported | None, code: str) -> Iterator[int]:
    """The rows in which offered fixes of a rule change a file that still stands as it is."""
    # What gives both trees is the very same where nothing is written. Two that are made apart, be
    # their trees equal, are of a file that is written: its rows are told in what it was.
    if file is not None and file.before is file.after:
        yield from (one.row for one in file.opened if one.key[0] == code)


def _runs(left: Left, way: dict[Name, None] | None) -> bool:
    return left.beside is None or way is None or left.beside in way


def _sentence(left: Left, path: str) -> str:
    where = left.line if left.path == path else f"{spoken_path(left.path)}, {left.line}"
    return f"{where}: {left.message}"
