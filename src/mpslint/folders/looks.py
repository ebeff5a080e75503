"""Looks at folders whose answers can be asked for again, to see whether they still hold: of folders
into which others write all the time only what was asked of them counts."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mpslint.records import NamedTuple
from mpslint.sources.files import BUILT
from mpslint.sources.reading import sign_of

if TYPE_CHECKING:
    from collections.abc import Iterable

_HEADS = ("readme", "license", "requirements", "environment.y", "environments.y")
"""What the names of files begin with that stand at the head of a project."""
_MOST_MODULES = 64
"""Of a folder with more modules nobody asks who imports whom."""


class Looked(NamedTuple):
    """All that was looked at."""

    signs: dict[str, tuple[int, int]]
    """Files and folders, absent ones as well, as they were."""
    marks: dict[str, bool]
    """What was only looked for, and whether it was there."""
    heads: dict[str, bool]
    """Folders, and whether they looked like the head of a project."""
    modules: dict[str, list[str]]
    """Folders, and the modules in them."""

    def add(self, more: Looked) -> None:
        self.signs.update(more.signs)
        self.marks.update(more.marks)
        self.heads.update(more.heads)
        self.modules.update(more.modules)

    def still(self) -> bool:
        """Whether all is as it was."""
        return (
            all(sign_of(path) == sign for path, sign in self.signs.items())
            and all(os.path.lexists(path) == was for path, was in self.marks.items())
            and all(is_head(folder) == was for folder, was in self.heads.items())
            and all(modules_in(folder) == were for folder, were in self.modules.items())
        )


def is_marked(folder: str, marks: Iterable[str], asked: dict[str, bool]) -> bool:
    """Whether one of these stands in a folder; what was looked for is noted in `asked`."""
    for mark in marks:
        path = os.path.join(folder, mark)
        if path not in asked:
            asked[path] = os.path.lexists(path)
        if asked[path]:
            return True
    return False


def is_head(folder: str) -> bool:
    """Whether a folder looks like the head of a project."""
    try:
        names = os.listdir(folder)
    except OSError:
        return False
    return any(name in BUILT or name.lower().startswith(_HEADS) for name in names)


def modules_in(folder: str) -> list[str]:
    """The names of the modules in a folder; none where there are many."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".py"))
    except OSError:
        return []
    return names if len(names) <= _MOST_MODULES else []
