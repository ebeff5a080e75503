"""What `.gitignore` files leave out. pathspec is imported only when there is such a file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


class _Layer(NamedTuple):
    folder: str
    spec: GitIgnoreSpec


class Ignores(NamedTuple):
    """The ignore files that hold in one folder, the nearest last (it is asked first)."""

    layers: tuple[_Layer, ...]

    def ignored(self, path: str, is_folder: bool) -> bool:
        full = os.path.abspath(path)
        for layer in reversed(self.layers):
            below = os.path.relpath(full, layer.folder).replace(os.sep, "/")
            include = layer.spec.check_file(below + "/" if is_folder else below).include
            if include is not None:
                return include
        return False


def above(top: str) -> Ignores | None:
    """The ignore files of the repository that `top` lies in, without those of `top` itself."""
    folders: list[str] = []
    folder = os.path.abspath(top)
    while not os.path.exists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folders.append(parent)
        folder = parent
    found = _with_file(None, folder, os.path.join(folder, ".git", "info", "exclude"))
    for folder in reversed(folders):
        found = extended(found, folder)
    return found


def extended(ignores: Ignores | None, folder: str) -> Ignores | None:
    """`ignores` and what the `.gitignore` in `folder` adds to it."""
    return _with_file(ignores, os.path.abspath(folder), os.path.join(folder, ".gitignore"))


def _with_file(ignores: Ignores | None, folder: str, path: str) -> Ignores | None:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read().splitlines()
    except OSError:
        return ignores
    if not any(line.strip() and not line.startswith("#") for line in lines):
        return ignores
    from pathspec import GitIgnoreSpec

    layer = _Layer(folder, GitIgnoreSpec.from_lines(lines))
    return Ignores((*(ignores.layers if ignores else ()), layer))
