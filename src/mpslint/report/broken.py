"""Modules of the project that do not parse: who imports one ends, on every machine."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mpslint.errors import MpslintError
from mpslint.project.runs.certain_imports import certain_imports
from mpslint.report.model import Broken
from mpslint.sources.opening import is_notebook
from mpslint.sources.screening import names_in, speaks_of_torch

if TYPE_CHECKING:
    import ast

    from mpslint.report.meaning import Meanings


def broken_imports(meanings: Meanings) -> tuple[Broken, ...]:
    """The files that do not parse and that others import for certain, each with the first of
    these. Where neither knows torch, they are no part of what a Mac's GPU is for."""
    paths = [path for path in meanings.settings if not is_notebook(path)]
    unread = {os.path.abspath(path): path for path in paths if _tree(meanings, path) is None}
    words = {_word(path) for path in unread}
    found: dict[str, Broken] = {}
    for path in meanings.settings if unread else ():
        here = os.path.abspath(path)
        if here in unread or words.isdisjoint(names_in(meanings.data(path))):
            continue
        tree = _tree(meanings, path)
        modules = meanings.neighbours(path).modules
        for _, module in certain_imports(here, tree, _nowhere) if tree is not None else ():
            target = unread.get(modules.find(here, module)[0] or "")
            if target is not None and target not in found and _speaks(meanings, path, target):
                found[target] = Broken(target, path)
    return tuple(found.values())


def _tree(meanings: Meanings, path: str) -> ast.Module | None:
    source = meanings.source(path)
    try:
        return source.parse() if source is not None else None
    except MpslintError:
        return None


def _word(path: str) -> bytes:
    """What stands in each file that imports the one at a path."""
    folder, name = os.path.split(os.path.splitext(path)[0])
    return os.fsencode(os.path.basename(folder) if name == "__init__" else name)


def _nowhere(_path: str, _module: str) -> None:
    """What other files call is not followed."""


def _speaks(meanings: Meanings, *paths: str) -> bool:
    return any(speaks_of_torch(meanings.data(path)) for path in paths)
