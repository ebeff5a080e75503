"""Which files of a run go along with one another: those of which one imports the other. A module is
the file that Python would find under its name from where it is imported; another file of the same
name has nothing to do with it.
"""

from __future__ import annotations

import ast
import os
from typing import TYPE_CHECKING

from mpslint.project.runs.far_imports import FarImports
from mpslint.project.runs.left_behind import parts

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

    def comes_to(self, other: str, path: str, row: int) -> bool:
        """Whether what one file has by its names from another may run a row of that, as it becomes:
        a program that asks it for something else is none that the row keeps on the CPU. 0: a row
        that is not known."""
        path, other = os.path.abspath(path), os.path.abspath(other)
        tree = self._project.modules.tree(path) if row else None
        names = self._names_from(other, path) if tree is not None else None
        if tree is None or names is None or other in self._of(path):
            return True
        every = parts(tree)
        meant = next((one for one in every if one.first <= row <= one.last), None)
        if meant is None or not (meant.owner or meant.name):
            return True
        while True:
            run = [one for one in every if (not one.name and not one.owner) or one.is_run(names)]
            more = names.union(*(one.names for one in run))
            if meant in run or more == names:
                return meant in run
            names = more

    def _names_from(self, other: str, path: str) -> set[str] | None:
        """The names that a file imports from another one; None: it may have any."""
        tree = self._project.modules.tree(other)
        found: set[str] = set()
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, ast.Import):
                if any(self._is_of(other, alias.name, path) for alias in node.names):
                    return None
            elif isinstance(node, ast.ImportFrom):
                module = "." * node.level + (node.module or "")
                names = {alias.name for alias in node.names}
                dot = "" if module.endswith(".") else "."
                if any(self._is_of(other, module + dot + name, path) for name in names - {"*"}):
                    return None
                if self._is_of(other, module, path):
                    found |= names
        return found if found and "*" not in found else None

    def _is_of(self, other: str, module: str, path: str) -> bool:
        known = self._project.modules.find(other, module)[0]
        return known is not None and os.path.abspath(known) == path

    def _of(self, path: str) -> frozenset[str]:
        if path not in self._imported:
            near, far = self._project.imports_of(path), self._far.named_by(path)
            self._imported[path] = frozenset((*near, *far))
        return self._imported[path]

    def _text_of(self, path: str) -> bytes:
        return self._project.modules.text(path) or b""
