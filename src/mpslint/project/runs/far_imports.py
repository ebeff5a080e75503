"""Imports that no folder known to hold a program's modules answers: those of programs that put
another folder on `sys.path` when they start. Among the files of a run the one that ends in the
module's dotted name is taken for it, where there is one alone, and its folder for one in which the
others of the same file are found. So is a package that the project has a script to install: a
program finds that wherever the two of them lie.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator

from mpslint.project.layout.import_texts import imported_modules
from mpslint.project.runs.left_behind import MOST_MODULES

_PACKAGE = "__init__.py"


class FarImports:
    """What files of a run lead to, also by such imports."""

    def __init__(
        self,
        files: Iterable[str],
        text_of: Callable[[str], bytes],
        led_to: Callable[[str], Iterable[str]],
        is_installed: Callable[[str], bool] = lambda folder: False,
    ) -> None:
        """`is_installed` tells whether the project has a script that installs the package which
        lies in a folder."""
        self._is_installed = is_installed
        self._files = frozenset(files)
        self._packages: dict[str, str] | None = None
        self._text_of = text_of
        self._led_to = led_to
        self._ending: dict[str, list[str]] = {}
        self._named: dict[str, list[str]] = {}
        self._led: dict[str, list[str]] = {}
        self._led_far: dict[str, list[str]] = {}
        self._found_in: dict[str, list[str]] = {}
        for path in self._files:
            stem = os.path.splitext(os.path.basename(path))[0]
            self._ending.setdefault(stem, []).append(path)

    def led_to(self, path: str) -> list[str]:
        if path not in self._led_far:
            self._led_far[path] = self._all_led_to(path)
        return self._led_far[path]

    def _all_led_to(self, path: str) -> list[str]:
        found = dict.fromkeys(self._near(path))
        todo = [path, *found]
        while todo and len(found) < MOST_MODULES:
            for other in self.named_by(todo.pop(0)):
                if other != path and other not in found:
                    more = [one for one in self._near(other) if one not in found]
                    found.update(dict.fromkeys([other, *more]))
                    todo += [other, *more]
        return [one for one in found if one != path]

    def knows(self, path: str, module: str) -> bool:
        """Whether a file of the run is taken for a module that the one at `path` imports, or one of
        several may be it."""
        parts = module.split(".")
        return bool(parts[-1]) and (
            self._of_package(parts) is not None
            or any(other.endswith(_ending(parts)) for other in self._ending.get(parts[-1], ()))
            or self._above(path, parts) is not None
            or next(self._below(self._roots(path), parts), None) is not None
        )

    def _of_package(self, parts: list[str]) -> str | None:
        """The file of a module of a package that is installed."""
        folder = self._installed.get(parts[0])
        if folder is None:
            return None
        return next(self._below([folder], parts), None)

    def _below(self, roots: Iterable[str], parts: list[str]) -> Iterator[str]:
        """The files of a module that lie in one of these folders."""
        for root in roots:
            base = os.path.join(root, *parts)
            places = (os.path.join(base, _PACKAGE), f"{base}.py")
            yield from (one for one in places if one in self._files)

    def _above(self, path: str, parts: list[str]) -> str | None:
        """The file of a module beside one of the packages that the file at `path` lies in, where a
        program may start."""
        if not parts[0] or parts[0] in sys.stdlib_module_names:
            return None
        folder = os.path.dirname(path)
        while self._is_package(folder):
            folder = os.path.dirname(folder)
            found = next(self._below([folder], parts), None)
            if found is not None:
                known = (_ending(parts), _ending([*parts, "__init__"]))
                return None if any(one.endswith(known) for one in self._near(path)) else found
        return None

    def _roots(self, path: str) -> list[str]:
        """The folders in which a file finds what it imports so."""
        if path not in self._found_in:
            found: dict[str, None] = {}
            for module in imported_modules(self._text_of(path)):
                parts = module.split(".")
                other = self._alone(parts)
                if other is not None:
                    found[other[: -len(_ending(parts))]] = None
            self._found_in[path] = list(found)
        return self._found_in[path]

    def _alone(self, parts: list[str]) -> str | None:
        """The one file that ends in the dotted name of a module."""
        if len(parts) < 2 or not parts[0]:
            return None
        same = [one for one in self._ending.get(parts[-1], ()) if one.endswith(_ending(parts))]
        return same[0] if len(same) == 1 else None

    @property
    def _installed(self) -> dict[str, str]:
        """The folders in which packages lie that the project installs, by their names, of which
        each stands for one package alone."""
        if self._packages is None:
            found: dict[str, list[str]] = {}
            for path in self._files:
                around, name = os.path.split(os.path.dirname(path))
                if os.path.basename(path) == _PACKAGE and not self._is_package(around):
                    if self._is_installed(around):
                        found.setdefault(name, []).append(around)
            self._packages = {name: one[0] for name, one in found.items() if len(one) == 1}
        return self._packages

    def _is_package(self, folder: str) -> bool:
        return os.path.join(folder, _PACKAGE) in self._files

    def _near(self, path: str) -> list[str]:
        if path not in self._led:
            self._led[path] = list(self._led_to(path))
        return self._led[path]

    def named_by(self, path: str) -> list[str]:
        """The files of the run that a file itself may import so."""
        if path not in self._named:
            modules = imported_modules(self._text_of(path))
            self._named[path] = list(self._ending_as(path, modules))
        return self._named[path]

    def _ending_as(self, path: str, modules: Iterable[str]) -> Iterator[str]:
        roots = self._roots(path)
        for module in modules:
            parts = module.split(".")
            places = (self._of_package(parts), self._alone(parts), self._above(path, parts))
            found = next((one for one in places if one is not None), None)
            if found is None and parts[0]:
                found = next(self._below(roots, parts), None)
            if found is not None:
                yield found


def _ending(parts: list[str]) -> str:
    return os.sep + os.path.join(*parts) + ".py"
