"""What runs where something else does: the parts of a project that others run by their names.

Programs are many, and so are the parts of what they import. Sets of parts are whole numbers here,
with a bit for each part of the project: what a part leads to is put together once, for all
programs, and a way adds that up for the files that its program leads to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpslint.basics.bits import bit_places
from mpslint.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from mpslint.project.runs.left_behind import Part

Name = tuple[str, str, str]
"""A part of a project: its file, its class and its function; both are empty for the module."""
_Waiting = tuple[int, int]
"""The parts of which the class, and those of which the own name, is used."""


class Ways:
    def __init__(
        self,
        parts_of: Callable[[str], Sequence[Part]],
        led_to: Callable[[str], Iterable[str]],
    ) -> None:
        """`led_to` gives the files that a file leads to."""
        self._parts_of = parts_of
        self._led_to = led_to
        self._all = _All()
        self._around: dict[str, _Around] = {}

    def reached(self, path: str, names: frozenset[str]) -> dict[Name, None]:
        """The parts that code of a file may run that uses these names, in this file and in those
        that it leads to: nearest first. A name means what its own file gives it."""
        known = self._all
        return {known.called[at]: None for at in self._from(path).reached(names)}

    def runs(self, path: str, names: frozenset[str], name: Name) -> bool:
        """Whether a part is one of these."""
        around = self._from(path)
        wanted = self._all.bits_of.get(name, 0) & around.parts
        return bool(wanted and wanted & around.run(names))

    def _from(self, path: str) -> _Around:
        if path not in self._around:
            paths = list(dict.fromkeys((path, *self._led_to(path))))
            files = [self._all.file(one, self._parts_of) for one in paths]
            self._around[path] = _Around(self._all, files)
        return self._around[path]


class _File(NamedTuple):
    defined: frozenset[str]
    """The names that it defines."""
    parts: int
    first: int
    """The number of its first part."""


class _All:
    """The parts of all files that somebody has led to."""

    def __init__(self) -> None:
        self.called: list[Name] = []
        self.bits_of: dict[Name, int] = {}
        self.loose = self.unasked = 0
        """The parts that stand in no class, and those that nobody need name."""
        self.file_of: list[_File] = []
        self._names: list[frozenset[str]] = []
        self._waiting: set[str] = set()
        """The names for which a part waits: few of all that are used."""
        self._files: dict[str, _File] = {}
        self._of_class: dict[str, int] = {}
        self._of_name: dict[str, int] = {}
        self._uses: dict[int, _Waiting] = {}

    def file(self, path: str, parts_of: Callable[[str], Sequence[Part]]) -> _File:
        known = self._files.get(path)
        if known is None:
            parts = parts_of(path)
            first = len(self.called)
            named = ((one.owner, f".{one.owner}") if one.owner else one.called for one in parts)
            defined = frozenset(name for names in named for name in names) - {"", "."}
            own = ((1 << len(parts)) - 1) << first
            known = self._files[path] = _File(defined, own, first)
            for number, part in enumerate(parts, first):
                self._note(path, part, 1 << number)
            self.file_of += [known] * len(parts)
            self._uses.clear()  # A name may be that of one of these.
        return known

    def _note(self, path: str, part: Part, bit: int) -> None:
        name = (path, part.owner, part.name)
        self.called.append(name)
        self.bits_of[name] = self.bits_of.get(name, 0) | bit
        self._names.append(part.names)
        called = part.called
        self._waiting |= {part.owner, f".{part.owner}", *called}
        if part.owner:
            for one in (part.owner, f".{part.owner}"):
                self._of_class[one] = self._of_class.get(one, 0) | bit
        else:
            self.loose |= bit
        if part.is_run_unnamed:
            self.unasked |= bit
        else:
            for one in called:
                self._of_name[one] = self._of_name.get(one, 0) | bit

    def uses(self, at: int) -> _Waiting:
        """What waits for the names that a part uses."""
        known = self._uses.get(at)
        if known is None:
            known = self._uses[at] = self.used(self.file_of[at], self._names[at])
        return known

    def used(self, file: _File, names: frozenset[str]) -> _Waiting:
        """What waits for one of these names, which a file uses."""
        classes = named = 0
        defined, of_classes, of_names = file.defined, self._of_class, self._of_name
        for name in names & self._waiting:
            of_class, of_name = of_classes.get(name, 0), of_names.get(name, 0)
            if name in defined:
                of_class &= file.parts
                of_name &= file.parts
            classes |= of_class
            named |= of_name
        return classes, named


class _Around:
    """A file, which is the first, and those that it leads to."""

    def __init__(self, known: _All, files: Sequence[_File]) -> None:
        self._all = known
        self._own = files[0]
        self._rank = {one.first: number for number, one in enumerate(files) if one.parts}
        self.parts = 0
        for one in files:
            self.parts |= one.parts
        self._always: tuple[int, int, int] | None = None
        """What runs whoever asks, and what waits for a name then."""
        self._run: dict[frozenset[str], int] = {}

    def reached(self, names: frozenset[str]) -> Iterator[int]:
        """The numbers of the parts that run, the nearest first."""
        known, rank = self._all, self._rank
        classes, named = known.used(self._own, names)
        classes |= known.loose
        named |= known.unasked
        run = 0
        while new := classes & named & self.parts & ~run:
            run |= new
            for at in sorted(bit_places(new), key=lambda at: (rank[known.file_of[at].first], at)):
                yield at
                uses = known.uses(at)
                classes |= uses[0]
                named |= uses[1]

    def run(self, names: frozenset[str]) -> int:
        """The parts that run; of one program it is asked for every part that may be on its way."""
        known = self._run.get(names)
        if known is None:
            known = self._run[names] = self._run_by(names)
        return known

    def _run_by(self, names: frozenset[str]) -> int:
        if self._always is None:
            self._always = self._followed(0, self._all.loose, self._all.unasked)
        run, classes, named = self._always
        more = self._all.used(self._own, names)
        return self._followed(run, classes | more[0], named | more[1])[0]

    def _followed(self, run: int, classes: int, named: int) -> tuple[int, int, int]:
        uses = self._all.uses
        while new := classes & named & self.parts & ~run:
            run |= new
            for at in bit_places(new):
                waiting = uses(at)
                classes |= waiting[0]
                named |= waiting[1]
        return run, classes, named
