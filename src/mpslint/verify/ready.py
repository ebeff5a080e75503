"""A process of the user's Python that has imported torch, and whether a run can be forked from it.

What it has loaded comes from where packages are installed. A run that would have found another
module under one of these names, in the project or on the user's path, starts from nothing.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence

from mpslint.verify.interpreter import Interpreter
from mpslint.verify.sandbox.wardens import ForkServer

_OLDEST = (3, 10)
_ENDINGS = (".py", ".pyc", ".so")
_AT_START = ("sitecustomize", "usercustomize")


class Ready:
    """The process is started when the first run asks for it."""

    def __init__(
        self, python: Interpreter, env: Mapping[str, str], folder: str, project: Sequence[str]
    ) -> None:
        """`folder`: where the harness lies; `project`: folders of modules not installed."""
        self._start = (python.executable, env, folder, "mpslint_harness.prepared", [list(project)])
        self._server: ForkServer | None = None
        self._possible = (
            sys.platform == "linux" and python.version >= _OLDEST and python.torch is not None
        )
        self._lock = threading.Lock()

    def for_run(self, folders: Iterable[str]) -> ForkServer | None:
        """The server, for a run that looks for modules in these folders first."""
        with self._lock:
            if self._possible and self._server is None:
                self._server = ForkServer(*self._start)
        about = self._server.about() if self._server is not None else None
        if about is None:
            return None
        taken = {*about["loaded"], *_AT_START}
        return None if any(taken & _modules(folder) for folder in folders) else self._server

    def close(self) -> None:
        """No run can be forked any more."""
        with self._lock:
            server, self._server, self._possible = self._server, None, False
        if server is not None:
            server.close()


def _modules(folder: str) -> set[str]:
    """The names under which something in the folder could be imported before what is installed."""
    try:
        with os.scandir(folder) as entries:
            return {name for entry in entries if (name := _module(entry))}
    except OSError:
        return set()


def _module(entry: os.DirEntry[str]) -> str:
    stem, dot, _ = entry.name.partition(".")
    if dot:
        return stem if entry.name.endswith(_ENDINGS) else ""
    # A folder without one of these comes after all that is installed.
    starts = (os.path.join(entry.path, "__init__" + ending) for ending in _ENDINGS)
    return stem if any(map(os.path.exists, starts)) else ""
