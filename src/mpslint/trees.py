"""Parsed files, kept for a while: one that others import is parsed once, however many ask.

A tree takes some thirty times the bytes of its text, so they are bounded by these.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mpslint.source import SourceFile

if TYPE_CHECKING:
    import ast

_MOST_BYTES = 150_000
"""Of text: some five megabytes of trees, the modules of a package that import each other."""


class Trees:
    def __init__(self) -> None:
        self._kept: dict[tuple[str, bytes], ast.Module] = {}
        self._bytes = 0

    def of(self, source: SourceFile) -> ast.Module:
        """The tree of a file, by its path and content. Raises `BadSource`."""
        if type(source) is not SourceFile:
            return source.parse()  # The cells of a notebook are put together by itself.
        key = (os.path.abspath(source.path), source.data)
        tree = self._kept.pop(key, None)
        if tree is None:
            # Room is made first: what is dropped anyway need not be there beside the new tree.
            self._make_room(len(source.data))
            tree = source.parse()
            self._bytes += len(source.data)
        self._kept[key] = tree  # used last, dropped last
        return tree

    def _make_room(self, size: int) -> None:
        while self._kept and self._bytes + size > _MOST_BYTES:
            gone = next(iter(self._kept))
            del self._kept[gone]
            self._bytes -= len(gone[1])

    def read(self, path: str, data: bytes) -> tuple[SourceFile, ast.Module]:
        """A file of these bytes with its tree. Raises `BadSource`."""
        source = SourceFile(path, data)
        return source, self.of(source)
