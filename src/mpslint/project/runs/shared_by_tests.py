"""What the tests of a folder share: the `conftest.py` there and those above it, which pytest reads
before it collects a file, up to the head of the project."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from mpslint.project.layout.modules import project_roots

if TYPE_CHECKING:
    from mpslint.project.layout.modules import Modules
    from mpslint.project.runs.imported_runs import ImportedRuns
    from mpslint.semantics.worlds.interpreter import Interpreter
    from mpslint.settings.settings import Settings

# Fact: pytest, "conftest.py: local per-directory plugins"; a file there can skip tests, by fixtures
# or as a whole, or leave files out.
_NAME = "conftest.py"
_KEEPING_OUT = (b"skip", b"collect_ignore", b"ignore_collect")
_HEAD = ".git"
_MOST_FOLDERS = 12


class SharedByTests:
    def __init__(
        self,
        settings: Settings,
        modules: Modules,
        runs: ImportedRuns,
        note: Callable[[Iterable[str]], None],
        hear: Callable[[int], None],
    ) -> None:
        self._top = project_roots(settings)[0]
        self._modules = modules
        self._runs = runs
        self._note = note
        self._hear = hear

    def around(self, path: str) -> list[Interpreter]:
        """Those around the file at the absolute `path` that may keep tests from a machine, run as
        pytest imports them; the nearest first."""
        found: list[Interpreter] = []
        for one in self._above(path):
            self._note([one])
            text = self._modules.text(one) or b""
            if one == path or not any(word in text for word in _KEEPING_OUT):
                continue
            settled = self._runs.settled(one)
            self._hear(self._runs.rests_on(one))
            if settled is not None:
                found.append(settled)
        return found

    def _above(self, path: str) -> Iterator[str]:
        folder = os.path.dirname(path)
        for _ in range(_MOST_FOLDERS):
            yield os.path.join(folder, _NAME)
            above = os.path.dirname(folder)
            if folder in (self._top, above) or self._is_head(folder):
                return
            folder = above

    def _is_head(self, folder: str) -> bool:
        return os.path.exists(os.path.join(folder, _HEAD))
