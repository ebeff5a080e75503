"""What runs where something else does: the parts of a project that others run by their names.

Programs are many, and so are the parts of what they import. Sets of parts are whole numbers here,
with a bit for each: what a part leads to is put together once, and a way adds that up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from mpslint.left_behind import Part

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
        self._around: dict[str, _Around] = {}

    def reached(self, path: str, names: frozenset[str]) -> dict[Name, None]:
        """The parts that code of a file may run that uses these names, in this file and in those
        that it leads to: nearest first. A name means what its own file gives it."""
        if path not in self._around:
            paths = dict.fromkeys((path, *self._led_to(path)))
            self._around[path] = _Around({path: self._parts_of(path) for path in paths})
        return self._around[path].reached(names)


class _Around:
    """A file, which is the first, and those that it leads to."""

    def __init__(self, files: dict[str, Sequence[Part]]) -> None:
        self._parts: list[Part] = []
        self._called: list[Name] = []
        self._file_of: list[int] = []
        self._files: list[tuple[frozenset[str], int]] = []
        """The names that each file defines, and its parts."""
        self._of_class: dict[str, int] = {}
        self._of_name: dict[str, int] = {}
        self._loose = self._unasked = 0
        """The parts that stand in no class, and those that nobody need name."""
        self._uses: dict[int, _Waiting] = {}
        for number, (path, parts) in enumerate(files.items()):
            own = 0
            for part in parts:
                bit = 1 << len(self._parts)
                own |= bit
                self._parts.append(part)
                self._called.append((path, part.owner, part.name))
                self._file_of.append(number)
                self._note(part, bit)
            defined = frozenset(one.owner or one.name for one in parts) - {""}
            self._files.append((defined, own))

    def _note(self, part: Part, bit: int) -> None:
        if part.owner:
            self._of_class[part.owner] = self._of_class.get(part.owner, 0) | bit
        else:
            self._loose |= bit
        if part.is_run_unnamed:
            self._unasked |= bit
        else:
            self._of_name[part.name] = self._of_name.get(part.name, 0) | bit

    def reached(self, names: frozenset[str]) -> dict[Name, None]:
        found: dict[Name, None] = {}
        classes, named = self._used(0, names)
        classes |= self._loose
        named |= self._unasked
        run = 0
        while new := classes & named & ~run:
            run |= new
            while new:
                lowest = new & -new
                new ^= lowest
                at = lowest.bit_length() - 1
                found[self._called[at]] = None
                uses = self._uses.get(at)
                if uses is None:
                    uses = self._uses[at] = self._used(self._file_of[at], self._parts[at].names)
                classes |= uses[0]
                named |= uses[1]
        return found

    def _used(self, file: int, names: frozenset[str]) -> _Waiting:
        """What waits for one of these names, which a file uses."""
        defined, own = self._files[file]
        classes = named = 0
        for name in names:
            of_class, of_name = self._of_class.get(name, 0), self._of_name.get(name, 0)
            if name in defined:
                of_class &= own
                of_name &= own
            classes |= of_class
            named |= of_name
        return classes, named
