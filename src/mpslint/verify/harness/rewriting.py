"""Files of the user's that are compiled from a changed tree: with probes, or with loops cut short.

Nothing is written. The cache of compiled files is passed by: its code was not changed, and what was
is for nobody else.
"""

from __future__ import annotations

import ast
import importlib.machinery
from types import CodeType
from typing import Any, Protocol


class Change(Protocol):
    """What is done to the trees of some files."""

    def wants(self, path: str) -> bool:
        """Whether this file is to be changed."""

    def change(self, tree: ast.Module, path: str) -> ast.Module:
        """The tree to compile instead; the one that is given may be changed."""


_changes: list[Change] = []


def add(change: Change) -> None:
    """Change what is imported from now on, and the script itself; one after the other."""
    if not _changes:
        _watch_imports()
    _changes.append(change)


def compiled(data: bytes, path: str) -> CodeType:
    """The code of the script itself."""
    code = _changed(data, path)
    return code if code is not None else compile(data, path, "exec", dont_inherit=True)


def _changed(data: bytes, path: str) -> CodeType | None:
    wanted = [change for change in _changes if change.wants(path)]
    if not wanted:
        return None
    try:
        tree = ast.parse(data, path)
    except (SyntaxError, ValueError):
        return None  # the file's own compilation says so
    for change in wanted:
        tree = ast.fix_missing_locations(change.change(tree, path))
    code: CodeType = compile(tree, path, "exec", dont_inherit=True)
    return code


def _watch_imports() -> None:
    loader: Any = importlib.machinery.SourceFileLoader
    plain = loader.get_code

    def get_code(self: Any, fullname: str) -> Any:
        source = self.get_filename(fullname)
        if any(change.wants(source) for change in _changes):
            code = _changed(self.get_data(source), source)
            if code is not None:
                return code
        return plain(self, fullname)

    loader.get_code = get_code
