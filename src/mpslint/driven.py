"""Modules that a framework runs which chooses the device by itself, and knows no MPS.

Who registers a model with fairseq gets the batches where fairseq's trainer puts them: on CUDA or on
the CPU. What such models alone are made of is on no Mac's GPU either.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.import_texts import imported_modules
from mpslint.left_behind import programs
from mpslint.semantics.frameworks import frameworks_of

if TYPE_CHECKING:
    from mpslint.modules import Modules
    from mpslint.whole import Projects, Whole

_INIT = "__init__.py"


class Driven:
    def __init__(self, projects: Projects, modules: Modules) -> None:
        self._projects = projects
        self._modules = modules
        self._speaking: dict[str, bool] = {}
        """By project: whether one of its modules is registered so."""

    def includes(self, path: str) -> tuple[bool, tuple[str, ...]]:
        """Whether the module at the absolute `path` is one of these, and the files that this
        rests on."""
        if self._is_registered(path):
            return True, (path,)
        whole = self._projects.of(path)
        if whole is None or path not in whole.modules:
            return False, ()
        if not self._is_spoken_of(whole):
            return False, whole.files
        return self._serves_registered(whole, path), whole.files

    def _is_spoken_of(self, whole: Whole) -> bool:
        if whole.head not in self._speaking:
            self._speaking[whole.head] = any(map(self._is_registered, whole.modules))
        return self._speaking[whole.head]

    def _serves_registered(self, whole: Whole, path: str) -> bool:
        """Whether all that leads to a module ends in one that is registered."""
        todo, seen, found = [path], {path}, False
        while todo:
            module = todo.pop()
            if self._is_registered(module):
                found = True
                continue
            tree = self._modules.tree(module)
            if tree is None or programs(tree):
                return False
            importing = list(self._importing(whole, module))
            if not importing and os.path.basename(module) != _INIT:
                return False  # Who uses it is not seen.
            todo += [other for other in importing if other not in seen]
            seen.update(importing)
        return found

    def _importing(self, whole: Whole, path: str) -> Iterator[str]:
        folder, name = os.path.split(path)
        word = os.path.basename(folder) if name == _INIT else os.path.splitext(name)[0]
        spoken = word.encode("utf-8", "replace")
        for other in whole.modules:
            data = self._modules.text(other) or b""
            if other == path or spoken not in data:
                continue
            for module in imported_modules(data):
                if module.rpartition(".")[2] == word:
                    if self._modules.find(other, module)[0] == path:
                        yield other
                        break

    def _is_registered(self, path: str) -> bool:
        data = self._modules.text(path) or b""
        tree = None
        for framework in frameworks_of(data):
            tree = tree or self._modules.tree(path)
            if tree is not None and framework.takes(tree):
                if self._modules.find(path, framework.package)[0] is None:
                    return not self._modules.made_around(path, framework.package)[0]
        return False
