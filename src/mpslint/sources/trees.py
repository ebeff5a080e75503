"""Parsed files, kept for a while: one that others import is parsed once, however many ask.

A tree takes some thirty times the bytes of its text, so they are bounded by these. Those that some
file has imported are asked for again and again, and are not displaced by those that none has.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from mpslint.sources.source import SourceFile

if TYPE_CHECKING:
    import ast

_OWN_BYTES = 150_000
"""Of the text of files that are checked: some five megabytes of trees."""
_IMPORTED_BYTES = 600_000
"""Of the text of modules that others import."""
_WITH_ANALYSIS = 4
"""What is known of a file while it is looked at takes so many times the room of its tree: fewer
others are kept meanwhile, so that the largest files alone decide how much memory a run takes."""

_Key = tuple[str, bytes]


class Trees:
    def __init__(self) -> None:
        self._own = _Kept(_OWN_BYTES, 1)
        self._imported = _Kept(_IMPORTED_BYTES, _WITH_ANALYSIS)
        self._alive: WeakValueDictionary[_Key, ast.Module] = WeakValueDictionary()
        """All that somebody still has: whoever is being checked, or a run of a module that is kept,
        has its tree for as long, whether or not there is room for it here."""

    def keep(self, times: int) -> None:
        """Keeps so many times as many as a look at each file by itself needs."""
        self._own.most, self._imported.most = _OWN_BYTES * times, _IMPORTED_BYTES * times

    def of(self, source: SourceFile) -> ast.Module:
        """The tree of a file, by its path and content. Raises `BadSource`."""
        return self._of(source, imported=False)

    def read(self, path: str, data: bytes) -> tuple[SourceFile, ast.Module]:
        """A file of these bytes, which another one imports, with its tree. Raises `BadSource`."""
        source = SourceFile(path, data)
        return source, self._of(source, imported=True)

    def _of(self, source: SourceFile, *, imported: bool) -> ast.Module:
        if type(source) is not SourceFile:
            return source.parse()  # The cells of a notebook are put together by itself.
        key = (os.path.abspath(source.path), source.data)
        tree = self._imported.take(key)
        imported = imported or tree is not None
        tree = tree or self._own.take(key)
        if tree is None:
            tree = self._alive.get(key)
        if tree is None:
            # Room is made first: what is dropped anyway need not be there beside the new tree.
            for kept in (self._own, self._imported):
                kept.make_room(len(source.data))
            tree = self._alive[key] = source.parse()
        (self._imported if imported else self._own).put(key, tree)
        return tree


class _Kept:
    """Trees up to so many bytes of text, fewer beside a large file."""

    def __init__(self, most: int, beside: int) -> None:
        self._trees: dict[_Key, ast.Module] = {}
        self._bytes = 0
        self.most = most
        self._beside = beside

    def take(self, key: _Key) -> ast.Module | None:
        tree = self._trees.pop(key, None)
        if tree is not None:
            self._bytes -= len(key[1])
        return tree

    def put(self, key: _Key, tree: ast.Module) -> None:
        """Keeps a tree as the one that was used last."""
        self._trees[key] = tree
        self._bytes += len(key[1])

    def make_room(self, size: int) -> None:
        """For a tree of a text of this size, or for what is known of its file."""
        while self._trees and self._bytes + self._beside * size > self.most:
            gone = next(iter(self._trees))
            del self._trees[gone]
            self._bytes -= len(gone[1])
