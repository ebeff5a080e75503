"""Imports that no folder known to hold a program's modules answers: those of programs that put
another folder on `sys.path` when they start. Among the files of a run the one that ends in the
module's dotted name is taken for it, where there is one alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator

from mpslint.project.layout.import_texts import imported_modules
from mpslint.project.runs.left_behind import MOST_MODULES


class FarImports:
    """What files of a run lead to, also by such imports."""

    def __init__(
        self,
        files: Iterable[str],
        text_of: Callable[[str], bytes],
        led_to: Callable[[str], Iterable[str]],
    ) -> None:
        self._text_of = text_of
        self._led_to = led_to
        self._ending: dict[str, list[str]] = {}
        self._named: dict[str, list[str]] = {}
        self._led: dict[str, list[str]] = {}
        for path in files:
            stem = os.path.splitext(os.path.basename(path))[0]
            self._ending.setdefault(stem, []).append(path)

    def led_to(self, path: str) -> list[str]:
        found = dict.fromkeys(self._near(path))
        todo = [path, *found]
        while todo and len(found) < MOST_MODULES:
            for other in self.named_by(todo.pop(0)):
                if other != path and other not in found:
                    more = [one for one in self._near(other) if one not in found]
                    found.update(dict.fromkeys([other, *more]))
                    todo += [other, *more]
        return [one for one in found if one != path]

    def knows(self, module: str) -> bool:
        """Whether a file of the run is taken for a module, or one of several may be it."""
        parts = module.split(".")
        return bool(parts[-1]) and any(
            path.endswith(os.path.join(os.sep, *parts) + ".py")
            for path in self._ending.get(parts[-1], ())
        )

    def _near(self, path: str) -> list[str]:
        if path not in self._led:
            self._led[path] = list(self._led_to(path))
        return self._led[path]

    def named_by(self, path: str) -> list[str]:
        """The files of the run that a file itself may import so."""
        if path not in self._named:
            self._named[path] = list(self._ending_as(imported_modules(self._text_of(path))))
        return self._named[path]

    def _ending_as(self, modules: Iterable[str]) -> Iterator[str]:
        for module in modules:
            parts = module.split(".")
            if len(parts) > 1 and parts[0]:
                ending = os.sep + os.path.join(*parts) + ".py"
                same = [one for one in self._ending.get(parts[-1], ()) if one.endswith(ending)]
                if len(same) == 1:
                    yield same[0]
