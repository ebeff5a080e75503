"""What the rest of a project says against MPS: read once per project, and only where a fix would
bring something to MPS."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from mpslint.files import read_regular
from mpslint.semantics.reservations import holds_back, may_hold_back

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.settings import Settings

_VERSIONED = (".git", ".hg", ".jj")
_BUILT = ("pyproject.toml", "setup.py", "setup.cfg")
_MAX_FILES = 20_000
_MAX_BYTES = 1_000_000
_TESTS = re.compile(r"tests?|testing|conftest\.py|test_.*\.py|.*_test\.py")
"""A test suite that is run on MPS on request says nothing of the library."""


class Surroundings:
    """Why MPS is held back in the project of a file; each project is read once."""

    def __init__(self, settings: Settings, read: Callable[[str], Context | None]) -> None:
        self._settings = settings
        self._read = read
        self._known: dict[str, str] = {}
        self._roots: dict[str, str] = {}

    def hold_back(self, path: str) -> str:
        """Why it is held back; empty: it is not."""
        root = self._root(os.path.dirname(os.path.abspath(path)))
        if root not in self._known:
            said = (self._says_so(found) for found in self._files(root))
            self._known[root] = next(filter(None, said), "")
        return self._known[root]

    def _root(self, folder: str) -> str:
        """The project's folder: where it is versioned, else built, else the outermost package."""
        if folder not in self._roots:
            above = [folder]
            while os.path.dirname(above[-1]) != above[-1]:
                above.append(os.path.dirname(above[-1]))
            self._roots[folder] = next(
                (
                    place
                    for marks in (_VERSIONED, _BUILT)
                    for place in above
                    if any(os.path.lexists(os.path.join(place, mark)) for mark in marks)
                ),
                next(p for p in above if not os.path.isfile(os.path.join(p, "__init__.py"))),
            )
        return self._roots[folder]

    def _files(self, root: str) -> Iterator[str]:
        left = _MAX_FILES
        for folder, folders, names in os.walk(root):
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
        try:
            if not may_hold_back(read_regular(path, _MAX_BYTES)):
                return ""
        except OSError:
            return ""
        context = self._read(path)
        return holds_back(context) if context is not None else ""
