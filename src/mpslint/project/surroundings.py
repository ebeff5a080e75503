"""What the rest of a project says against MPS: read once per project, and only where a fix would
bring something to MPS. It speaks of the files that import who says so, and of those imported there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from mpslint.folders.looks import is_marked
from mpslint.semantics.elsewhere.reservations import holds_back, may_hold_back
from mpslint.sources.files import BUILT, VERSIONED, read_regular
from mpslint.sources.reading import sign_of

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.settings.settings import Settings

_MAX_FILES = 20_000
_MAX_BYTES = 1_000_000
_TESTS = re.compile(r"tests?|testing|conftest\.py|test_.*\.py|.*_test\.py")
"""A test suite that is run on MPS on request says nothing of the library."""


class Surroundings:
    """Why MPS is held back in the project of a file; each project is read once."""

    def __init__(
        self,
        settings: Settings,
        read: Callable[[str], Context | None],
        led_to: Callable[[str], Iterable[str]],
    ) -> None:
        """`led_to` gives the modules that a file imports, and they in turn."""
        self._settings = settings
        self._read = read
        self._led_to = led_to
        self._known: dict[str, list[str]] = {}
        """By project: its files that may say so."""
        self._said: dict[str, str] = {}
        self._led: dict[str, frozenset[str]] = {}
        self._roots: dict[str, str] = {}
        self.signs: dict[str, tuple[int, int]] = {}
        """The files and folders that were looked at, as they were then."""
        self.marks: dict[str, bool] = {}
        """Whether these are there, of which nobody asks more."""

    def hold_back(self, path: str) -> str:
        """Why it is held back; empty: it is not."""
        path = os.path.abspath(path)
        root = self._root(os.path.dirname(path))
        if root not in self._known:
            self._known[root] = list(filter(self._may_say_so, self._files(root)))
        for other in self._known[root]:
            if other != path and self._are_of_one_program(path, other):
                if said := self._says_so(other):
                    return said
        return ""

    def _are_of_one_program(self, one: str, other: str) -> bool:
        """Whether one of two files leads to the other."""
        return other in self._modules_of(one) or one in self._modules_of(other)

    def _modules_of(self, path: str) -> frozenset[str]:
        if path not in self._led:
            self._led[path] = frozenset(self._led_to(path))
        return self._led[path]

    def _root(self, folder: str) -> str:
        """The project's folder: where it is versioned, else built, else the outermost package."""
        if folder not in self._roots:
            above = [folder]
            while os.path.dirname(above[-1]) != above[-1]:
                above.append(os.path.dirname(above[-1]))
            self._roots[folder] = next(
                (
                    place
                    for marks in (VERSIONED, BUILT)
                    for place in above
                    if is_marked(place, marks, self.marks)
                ),
                next(p for p in above if not is_marked(p, ("__init__.py",), self.marks)),
            )
        return self._roots[folder]

    def _files(self, root: str) -> Iterator[str]:
        left = _MAX_FILES
        for folder, folders, names in os.walk(root):
            self.signs[folder] = sign_of(folder)
            folders[:] = sorted(
                name
                for name in folders
                if not name.startswith(".")
                and name not in self._settings.exclude
                and not _TESTS.fullmatch(name)
            )
            for name in sorted(names):
                if name.endswith(".py") and not _TESTS.fullmatch(name):
                    left -= 1
                    if left < 0:
                        return
                    yield os.path.join(folder, name)

    def _says_so(self, path: str) -> str:
        if path not in self._said:
            context = self._read(path)
            self._said[path] = holds_back(context) if context is not None else ""
        return self._said[path]

    def _may_say_so(self, path: str) -> bool:
        self.signs[path] = sign_of(path)
        try:
            return may_hold_back(read_regular(path, _MAX_BYTES))
        except OSError:
            return False
