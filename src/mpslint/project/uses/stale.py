"""Files of a project that end at an import on every machine: what they import is a module of the
project's that lies where they cannot find it, or has not what they take from it. They were left
behind when it was moved, or are copies that somebody put away.

Who starts a file may have Python look in further folders. So of modules that lie elsewhere nothing
is said where any text of the project speaks of `PYTHONPATH`; nor where a file puts folders on
`sys.path` that are not understood, nor of files that others import, which may have put some there.
"""

from __future__ import annotations

import ast
import os
from typing import TYPE_CHECKING

from mpslint.facts.priors import understood
from mpslint.project.compiled.missing_modules import is_missing
from mpslint.project.layout.added_folders import WORD, added_folders
from mpslint.project.layout.import_texts import imported_modules
from mpslint.project.layout.modules import is_foreign

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mpslint.project.layout.modules import Modules
    from mpslint.project.layout.whole import Projects, Whole

_LOOKING = (b"PYTHONPATH", b"pythonpath", b"package_dir", b"package-dir", b"sys.meta_path")
"""By these Python looks for modules in folders that no import shows."""


_BY_OTHER_MEANS = (b"import *", b"__getattr__", b"globals", b"exec(", b"vars(", b"sys.modules")
"""By these a module has names that do not stand in it."""


class Stale:
    def __init__(self, projects: Projects, modules: Modules) -> None:
        self._projects = projects
        self._modules = modules
        self._looking: dict[str, bool] = {}
        """By the head of the project."""

    def includes(self, whole: Whole, path: str) -> bool:
        """Whether the module of the project at the absolute `path` is one of these."""
        if not path.endswith(".py"):
            return False
        tree = self._modules.tree(path)
        if tree is None or not any(
            self._is_gone(whole, path, *wanted) for wanted in _imported_first(tree)
        ):
            return False
        text = self._modules.text(path) or b""
        if WORD in text and not added_folders(tree, path, [whole.head]):
            return False
        return not self._is_imported(whole, path)

    def _is_gone(self, whole: Whole, path: str, module: str, names: tuple[str, ...]) -> bool:
        first = module.partition(".")[0]
        if is_foreign(module) or understood(first):
            return False
        found = self._modules.find(path, module)[0]
        apart = [
            name
            for name in names
            if name != "*" and self._modules.find(path, f"{module}.{name}")[0] is None
        ]
        if found is not None or len(apart) < len(names):
            return found is not None and any(self._lacks(found, name) for name in apart)
        package = self._modules.find(path, first)[0]
        building = self._projects.building(path)
        if any(
            one is not None and is_missing(self._modules, building, one, module)
            for one in (path, package)
        ):
            return True
        return (
            not self._is_around(whole, path, first)
            and self._lies_elsewhere(whole, module, names)
            and not self._is_told_where(whole)
        )

    def _lacks(self, found: str, name: str) -> bool:
        """Whether a module never speaks of what is taken from it, nor has names by other means."""
        if os.path.basename(found) == "__init__.py":
            return False
        text = self._text(found)
        return name.encode(errors="replace") not in self._modules.words(found) and not any(
            word in text for word in _BY_OTHER_MEANS
        )

    def _lies_elsewhere(self, whole: Whole, module: str, names: tuple[str, ...]) -> bool:
        """Whether a module of this name, which has what is taken from it, lies somewhere: what has
        another content may be of somebody else, or is one that is left out of the repository."""
        place = os.sep + module.replace(".", os.sep)
        wanted = {name.encode(errors="replace") for name in names if name != "*"}
        return any(
            other.endswith((place + ".py", os.path.join(place, "__init__.py")))
            and wanted <= self._modules.words(other)
            for other in whole.modules
        )

    def _is_around(self, whole: Whole, path: str, first: str) -> bool:
        """Whether something of this name lies beside the file, or in a folder around it, where who
        starts a program there finds it."""
        folder = os.path.dirname(path)
        while folder.startswith(whole.head):
            base = os.path.join(folder, first)
            if any(
                other == base + ".py" or other.startswith(base + os.sep) for other in whole.modules
            ):
                return True
            folder = os.path.dirname(folder)
        return False

    def _is_told_where(self, whole: Whole) -> bool:
        if whole.head not in self._looking:
            texts = (self._modules.text(other) or b"" for other in (*whole.others, *whole.modules))
            self._looking[whole.head] = any(word in text for text in texts for word in _LOOKING)
        return self._looking[whole.head]

    def _is_imported(self, whole: Whole, path: str) -> bool:
        """Whether another module seems to import this one, by whatever name."""
        stem = os.path.basename(path).removesuffix(".py")
        return any(
            other != path
            and any(stem in module.split(".") for module in imported_modules(self._text(other)))
            for other in self._modules.holding_alone(whole.modules, stem.encode(errors="replace"))
        )

    def _text(self, path: str) -> bytes:
        return self._modules.text(path) or b""


def _imported_first(tree: ast.Module) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What a file imports come what may, each module with the names that are taken from it."""
    for item in tree.body:
        if isinstance(item, ast.Import):
            yield from ((alias.name, ()) for alias in item.names)
        elif isinstance(item, ast.ImportFrom) and not item.level and item.module:
            yield item.module, tuple(alias.name for alias in item.names)
