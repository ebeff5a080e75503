"""Files of a project that end at an import on every machine: they say themselves in which folders
Python should look, and what they import lies in another one. They are copies that somebody put
away, or were left behind when the folders were moved.

Where a file says nothing of folders, who starts it may: by PYTHONPATH, or since the project is
installed. So nothing is said of those, nor of what may be installed (modules of a package), of
folders that are not understood, and of files that others import.
"""

from __future__ import annotations

import ast
import os
from typing import TYPE_CHECKING

from mpslint.facts.priors import understood
from mpslint.project.layout.added_folders import WORD, added_folders
from mpslint.project.layout.modules import is_foreign
from mpslint.project.uses.importers import is_imported

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mpslint.project.layout.modules import Modules
    from mpslint.project.layout.whole import Whole

_FURTHER = (b"PYTHONPATH", b"pythonpath", b"site.addsitedir", b"sys.meta_path")
"""By these Python looks for modules in folders that no file adds itself."""


class Stale:
    def __init__(self, modules: Modules) -> None:
        self._modules = modules
        self._further: dict[str, bool] = {}
        """By the head of the project."""

    def includes(self, whole: Whole, path: str) -> bool:
        """Whether the module of the project at the absolute `path` is one of these."""
        if not path.endswith(".py") or WORD not in self._text(path):
            return False
        tree = self._modules.tree(path)
        if tree is None or not added_folders(tree, path, [whole.head]):
            return False
        gone = any(self._is_gone(whole, path, *wanted) for wanted in _imported_first(tree))
        return (
            gone and not self._looks_further(whole) and not is_imported(self._modules, whole, path)
        )

    def _is_gone(self, whole: Whole, path: str, module: str, names: tuple[str, ...]) -> bool:
        if "." in module or is_foreign(module) or understood(module):
            return False
        wanted = (module, *(f"{module}.{name}" for name in names))
        if any(self._modules.find(path, one)[0] is not None for one in wanted):
            return False
        return not self._is_around(whole, path, module) and self._lies_elsewhere(
            whole, module, names
        )

    def _lies_elsewhere(self, whole: Whole, module: str, names: tuple[str, ...]) -> bool:
        """Whether a module of this name, in no package, has what is taken from it: one that has
        not is somebody else's, or is left out of the repository."""
        place = f"{os.sep}{module}.py"
        wanted = {name.encode(errors="replace") for name in names if name != "*"}
        return any(
            other.endswith(place)
            and os.path.join(os.path.dirname(other), "__init__.py") not in whole.modules
            and wanted <= self._modules.words(other)
            for other in whole.modules
        )

    def _is_around(self, whole: Whole, path: str, name: str) -> bool:
        """Whether something of this name lies beside the file, or in a folder around it, where who
        starts a program there finds it."""
        folder = os.path.dirname(path)
        while folder.startswith(whole.head):
            base = os.path.join(folder, name)
            if any(
                other == base + ".py" or other.startswith(base + os.sep) for other in whole.modules
            ):
                return True
            if folder == os.path.dirname(folder):
                break
            folder = os.path.dirname(folder)
        return False

    def _looks_further(self, whole: Whole) -> bool:
        if whole.head not in self._further:
            texts = (self._text(other) for other in (*whole.others, *whole.modules))
            self._further[whole.head] = any(word in text for text in texts for word in _FURTHER)
        return self._further[whole.head]

    def _text(self, path: str) -> bytes:
        return self._modules.text(path) or b""


def _imported_first(tree: ast.Module) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What a file imports come what may, each module with the names that are taken from it."""
    for item in tree.body:
        if isinstance(item, ast.Import):
            yield from ((alias.name, ()) for alias in item.names)
        elif isinstance(item, ast.ImportFrom) and not item.level and item.module:
            yield item.module, tuple(alias.name for alias in item.names)
