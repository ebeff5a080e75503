"""Whether a program switches mixed precision on around what a module of its project defines.

A network knows nothing of it: who trains it calls it in an autocast, in a file of his own, and a
program brings the two together.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mpslint.semantics.packages.cast_around import switches_on
from mpslint.semantics.purpose.test_files import is_test_file

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mpslint.project.layout.modules import Modules
    from mpslint.project.layout.whole import Projects, Whole
    from mpslint.semantics.elsewhere.elsewhere import Elsewhere

_WORD = b"autocast"
_MOST_PARSED = 24
"""Where more modules speak of it, one of the first ones switches it on, or the project is many."""


class CastAround:
    def __init__(self, projects: Projects, modules: Modules, elsewhere: Elsewhere) -> None:
        self._projects = projects
        self._modules = modules
        self._elsewhere = elsewhere
        self._above: dict[str, dict[str, set[str]]] = {}
        """Of each project, by its head, who imports a module."""

    def includes(self, path: str) -> tuple[bool, tuple[str, ...]]:
        """Whether a module that switches mixed precision on, which MPS takes part in, and the file
        at the absolute `path` are of one program; and the files that this rests on."""
        whole = self._projects.of(path)
        if whole is None:
            return False, ()
        mine: set[str] | None = None
        speaking = self._modules.holding(whole.modules, _WORD)
        for other in list(speaking)[:_MOST_PARSED]:
            if other == path:
                continue
            context = self._modules.context(other, self._elsewhere)
            if context is None or is_test_file(context) or not switches_on(context):
                continue
            mine = self._leading_to(whole, path) if mine is None else mine
            if not mine.isdisjoint(self._leading_to(whole, other)):
                return True, whole.files
        return False, whole.files

    def _leading_to(self, whole: Whole, path: str) -> set[str]:
        """The file, and all modules that import it, by way of others as well."""
        if whole.head not in self._above:
            self._above[whole.head] = self._imports(whole.modules)
        above, found, todo = self._above[whole.head], {path}, [path]
        while todo:
            new = above.get(todo.pop(), set()) - found
            found |= new
            todo += new
        return found

    def _imports(self, modules: Iterable[str]) -> dict[str, set[str]]:
        """By module: who names it, or what lies in the package that it makes, where he imports."""
        named: dict[bytes, list[str]] = {}
        for one in modules:
            named.setdefault(_known_as(one), []).append(one)
        above: dict[str, set[str]] = {}
        for one in modules:
            for word in self._modules.imported_by(one):
                for other in named.get(word, ()):
                    if other != one:
                        above.setdefault(other, set()).add(one)
        return above


def _known_as(path: str) -> bytes:
    """What a module is imported by: `train` of `train.py`, `models` of `models/__init__.py`."""
    folder, name = os.path.split(path)
    stem = os.path.splitext(name)[0]
    known = os.path.basename(folder) if stem == "__init__" else stem
    return known.encode("utf-8", "replace")
