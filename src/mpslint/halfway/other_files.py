"""What the other files of a project say of the names and members of one."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable
from typing import Protocol

from mpslint.halfway.around_files import Around
from mpslint.halfway.device_arrays import host_names
from mpslint.halfway.foreign_flow import Flow
from mpslint.semantics.syntax.index import walk

_GIVEN = (
    rb"\.%s\b(?:\s*\[[^\n]*?\])*\s*"
    rb"(?:[-+*/%%|&@^]?=(?!=)|(?::|,)[^=\n()]*=(?!=)|\.(?:append|extend|insert|add|update|setdefault)\()"
)
"""What gives an object a member of a name, or puts something into that."""
_FURTHEST = 3
"""So many modules on, what is given or gives is followed."""


class Files(Protocol):
    def text_of(self, path: str) -> bytes: ...

    def tree_of(self, path: str) -> ast.Module | None: ...

    def file_of(self, path: str, module: str) -> str | None: ...

    def others(self, path: str) -> tuple[str, ...]: ...

    def holding(self, path: str, files: tuple[str, ...], word: bytes) -> tuple[str, ...]: ...


class OtherFiles:
    def __init__(self, files: Files) -> None:
        self._files = files

    def around(self, path: str) -> Around:
        """What the others say of the file at `path`."""
        stem = os.path.splitext(os.path.basename(path))[0]
        module = os.path.basename(os.path.dirname(path)) if stem == "__init__" else stem

        every = self._files.others(path)

        def holding(name: str, files: tuple[str, ...] = every) -> tuple[str, ...]:
            return self._files.holding(path, files, name.encode())

        def is_taken(name: str) -> bool:
            """Whether another file may use a name of the module: its text has both."""
            return bool(holding(name, holding(module)))

        def is_read(name: str) -> bool:
            return bool(holding(name))

        def is_given(name: str) -> bool:
            gives = re.compile(_GIVEN % re.escape(name.encode()))
            return any(gives.search(self._files.text_of(one)) for one in holding(name))

        return Around(is_taken, is_read, is_given, self._own(path, 0))

    def _own(self, path: str, distance: int) -> Callable[[str], Flow | None]:
        known: dict[str, Flow | None] = {}

        def own(module: str) -> Flow | None:
            if module not in known:
                file = self._files.file_of(path, module) if distance < _FURTHEST else None
                known[module] = self._flow(file, distance + 1) if file is not None else None
            return known[module]

        return own

    def _flow(self, path: str, distance: int) -> Flow | None:
        """What a module does, of which others may use all; no foreign thing is known in it."""
        tree = self._files.tree_of(path)
        if tree is None:
            return None
        hosts = host_names([*walk(tree)])
        others = Around(_always, _always, _always, self._own(path, distance))
        return Flow(tree, frozenset(), hosts, others)


def _always(name: str) -> bool:
    return True
