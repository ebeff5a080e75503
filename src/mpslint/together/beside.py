"""Which files of a run go along with one another: those of which one imports the other. A module is
the file that Python would find under its name from where it is imported; another file of the same
name has nothing to do with it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mpslint.project.runs.far_imports import FarImports

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mpslint.project.project import Project


class Beside:
    def __init__(self, files: Iterable[str], project: Project) -> None:
        self._project = project
        self._far = FarImports(map(os.path.abspath, files), self._text_of, lambda path: ())
        self._imported: dict[str, frozenset[str]] = {}

    def are(self, one: str, other: str) -> bool:
        """Whether one of two files imports the other."""
        one, other = os.path.abspath(one), os.path.abspath(other)
        return one in self._of(other) or other in self._of(one)

    def _of(self, path: str) -> frozenset[str]:
        if path not in self._imported:
            near, far = self._project.imports_of(path), self._far.named_by(path)
            self._imported[path] = frozenset((*near, *far))
        return self._imported[path]

    def _text_of(self, path: str) -> bytes:
        return self._project.modules.text(path) or b""
