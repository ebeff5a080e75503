"""What is open in the editor: files, and notebooks as the order of their cells.

A file, or a whole notebook, is what gets checked; its `Snapshot` never changes, so that another
thread can read it while the editor goes on.
"""

from __future__ import annotations

import itertools
import json
import os
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.uris import to_fs_path, urlparse

from mpslint.records import NamedTuple
from mpslint.server.positions import Text
from mpslint.sources.opening import NOTEBOOK, open_source
from mpslint.sources.source import SourceFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_BOM = "\ufeff"


class Part(NamedTuple):
    """One text of the editor: a file, or a cell of a notebook."""

    uri: str
    version: int
    text: Text
    language: str = "python"

    @property
    def shift(self) -> int:
        """How many characters come before what Python reads."""
        return len(_BOM) if self.text.content.startswith(_BOM) else 0

    def place(self, row: int, column: int) -> int:
        """The offset in the text of a 1-based position of the source."""
        start = self.text.starts[min(row, len(self.text.starts)) - 1]
        return start + column - 1 + (self.shift if row == 1 else 0)


class Snapshot(NamedTuple):
    """What was open at one moment under one address."""

    uri: str
    path: str
    stamp: int
    """Tells one state from every other one."""
    parts: dict[int | None, Part]
    """The cells of a notebook by their number; a file stands under None."""

    def source(self) -> SourceFile:
        """As `check` would read it once it is saved. Raises `BadSource`."""
        plain = self.parts.get(None)
        if plain is not None:
            return SourceFile.from_text(plain.text.content[plain.shift :], self.path)
        cells = [
            {"cell_type": "code", "metadata": {}, "source": part.text.content, "outputs": []}
            for part in self.parts.values()
        ]
        document = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        return open_source(self.path, json.dumps(document).encode("utf-8"))


class Unknown(Exception):
    """Something about a document that is not open."""


class Documents:
    """The open texts; every change gives what it belongs to a new stamp."""

    def __init__(self) -> None:
        self.encoding: types.PositionEncodingKind | str = types.PositionEncodingKind.Utf16
        self.folder = os.getcwd()
        """Where a document without a file is taken to lie."""
        self._parts: dict[str, Part] = {}
        self._notebooks: dict[str, list[types.NotebookCell]] = {}
        self._home: dict[str, str] = {}
        """The notebook of each cell."""
        self._stamps: dict[str, int] = {}
        self._next = itertools.count(1)

    def open(self, item: types.TextDocumentItem) -> str:
        self._put(item)
        return self._touched(item.uri)

    def change(
        self, uri: str, version: int, changes: Iterable[types.TextDocumentContentChangeEvent]
    ) -> str:
        """Apply changes, each to what the one before it left. Raises `Unknown`."""
        part = self.part(uri)
        text = part.text
        for change in changes:
            if isinstance(change, types.TextDocumentContentChangePartial):
                text = text.changed(change.text, change.range)
            else:
                text = Text(change.text, text.encoding)
        self._parts[uri] = part._replace(version=version, text=text)
        return self._touched(self.home(uri))

    def close(self, uri: str) -> None:
        self._parts.pop(uri, None)
        self._stamps.pop(uri, None)

    def open_notebook(
        self, notebook: types.NotebookDocument, texts: Sequence[types.TextDocumentItem]
    ) -> str:
        self._notebooks[notebook.uri] = list(notebook.cells)
        for item in texts:
            self._put(item, notebook.uri)
        return self._touched(notebook.uri)

    def change_notebook(self, uri: str, change: types.NotebookDocumentChangeEvent) -> list[str]:
        """Apply what changed; the cells that are gone. Raises `Unknown`."""
        if uri not in self._notebooks:
            raise Unknown(uri)
        gone: list[str] = []
        cells = change.cells
        structure = cells.structure if cells is not None else None
        if structure is not None:
            array = structure.array
            end = array.start + array.delete_count
            self._notebooks[uri][array.start : end] = array.cells or []
            for closed in structure.did_close or ():
                self._parts.pop(closed.uri, None)
                self._home.pop(closed.uri, None)
                gone.append(closed.uri)
            for item in structure.did_open or ():
                self._put(item, uri)
        for data in (cells.data if cells is not None else None) or ():
            known = [data if cell.document == data.document else cell for cell in self._cells(uri)]
            self._notebooks[uri] = known
        for content in (cells.text_content if cells is not None else None) or ():
            self.change(content.document.uri, content.document.version, content.changes)
        self._touched(uri)
        return gone

    def close_notebook(self, uri: str) -> list[str]:
        """The cells that were open."""
        cells = [cell.document for cell in self._notebooks.pop(uri, [])]
        for cell in cells:
            self._parts.pop(cell, None)
            self._home.pop(cell, None)
        self._stamps.pop(uri, None)
        return cells

    def part(self, uri: str) -> Part:
        """Raises `Unknown`."""
        try:
            return self._parts[uri]
        except KeyError:
            raise Unknown(uri) from None

    def home(self, uri: str) -> str:
        """What a text belongs to: the notebook of a cell, else itself."""
        return self._home.get(uri, uri)

    def stamp(self, uri: str) -> int:
        """The stamp of an open file or notebook; 0 where it is not open."""
        return self._stamps.get(uri, 0)

    def all(self) -> list[str]:
        """What is open: files and notebooks."""
        return list(self._stamps)

    def renew(self) -> None:
        """Give all that is open a new stamp: what was known of it no longer holds."""
        for uri in self.all():
            self._touched(uri)

    def is_notebook(self, uri: str) -> bool:
        return uri in self._notebooks

    def path(self, uri: str) -> str:
        """The file of a document, or where one that was never saved would lie."""
        path = to_fs_path(uri)
        if path:
            return os.path.abspath(path)
        name = os.path.basename(urlparse(uri)[2]) or "untitled"
        suffix = NOTEBOOK if self.is_notebook(uri) else ".py"
        return os.path.join(self.folder, name if name.endswith(suffix) else name + suffix)

    def snapshot(self, uri: str) -> Snapshot:
        """Raises `Unknown` for what is no open file and no notebook."""
        if uri not in self._stamps:
            raise Unknown(uri)
        path, parts = self.path(uri), dict[int | None, Part]()
        if self.is_notebook(uri):
            path += "" if path.endswith(NOTEBOOK) else NOTEBOOK
            parts.update(self._numbered(uri))
        else:
            parts[None] = self.part(uri)
        return Snapshot(uri, path, self._stamps[uri], parts)

    def _cells(self, uri: str) -> list[types.NotebookCell]:
        return self._notebooks[uri]

    def _numbered(self, uri: str) -> Iterator[tuple[int, Part]]:
        """The Python cells. Numbers are those of what is checked, which holds these cells alone."""
        number = 0
        for cell in self._cells(uri):
            part = self._parts.get(cell.document)
            if cell.kind != types.NotebookCellKind.Code or part is None:
                continue
            if part.language.lower() == "python":
                number += 1
                yield number, part

    def _put(self, item: types.TextDocumentItem, notebook: str | None = None) -> None:
        text = Text(item.text, self.encoding)
        self._parts[item.uri] = Part(item.uri, item.version, text, item.language_id)
        if notebook is not None:
            self._home[item.uri] = notebook

    def _touched(self, uri: str) -> str:
        self._stamps[uri] = next(self._next)
        return uri
