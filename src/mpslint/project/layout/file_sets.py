"""Sets of files as whole numbers, with a bit for each file: answers rest on hundreds of files, and
to put such sets together is most of what keeping them would cost.
"""

from __future__ import annotations

from collections.abc import Iterable

from mpslint.basics.bits import bit_places

_LARGE = 64
_MOST_SMALL, _MOST_LARGE = 8192, 64
"""So many sets are kept by what they were given as: a module that is looked for is so for each file
that imports it, and a whole project is given with many an answer."""


class FileSets:
    """Numbers the files of a run."""

    __slots__ = ("_large", "_numbers", "_paths", "_small")

    def __init__(self) -> None:
        self._paths: list[str] = []
        self._numbers: dict[str, int] = {}
        self._small: dict[tuple[str, ...], int] = {}
        self._large: dict[tuple[str, ...], int] = {}

    def of(self, paths: Iterable[str]) -> int:
        """The set of these files."""
        if not isinstance(paths, tuple):
            return self._set(paths)
        is_small = len(paths) < _LARGE
        kept = self._small if is_small else self._large
        known = kept.get(paths)
        if known is None:
            if len(kept) >= (_MOST_SMALL if is_small else _MOST_LARGE):
                kept.clear()
            known = kept[paths] = self._set(paths)
        return known

    def _set(self, paths: Iterable[str]) -> int:
        numbers = list(map(self._number, paths))
        if not numbers:
            return 0
        marked = bytearray((max(numbers) >> 3) + 1)
        for number in numbers:
            marked[number >> 3] |= 1 << (number & 7)
        return int.from_bytes(marked, "little")

    def _number(self, path: str) -> int:
        number = self._numbers.get(path)
        if number is None:
            number = self._numbers[path] = len(self._paths)
            self._paths.append(path)
        return number

    def paths(self, files: int) -> list[str]:
        """The files of a set, in the order in which they were first heard of."""
        known = self._paths
        return [known[number] for number in bit_places(files)]
