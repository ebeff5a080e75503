"""The files of a project as the rules understand them, for questions that no single finding
answers: who uses this device, and where does that switch come from?"""

from __future__ import annotations

import ast
import os
from typing import TYPE_CHECKING

from mpslint.errors import MpslintError
from mpslint.project.neighbours import Neighbours
from mpslint.semantics.context import Context
from mpslint.settings.settings import Settings
from mpslint.sources.opening import open_source
from mpslint.sources.reading import read_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mpslint.model import Finding
    from mpslint.sources.source import SourceFile


_NODES = "report.nodes"


class Meanings:
    """Contexts by path; the last one is kept, since questions come file by file."""

    def __init__(self, settings: Mapping[str, Settings]) -> None:
        """`settings` of each file of the project, by its path."""
        self.settings = settings
        self._neighbours: dict[Settings, Neighbours] = {}
        self._last: tuple[str, Context | None] = ("", None)
        self._opened: tuple[str, SourceFile | None] = ("", None)

    def context(self, path: str) -> Context | None:
        """The meaning of a file; None where it cannot be read."""
        if self._last[0] != path:
            self._last = (path, self._made(path))
        return self._last[1]

    def neighbours(self, path: str) -> Neighbours:
        """Who answers for the modules around a file."""
        settings = self.settings[path]
        if settings not in self._neighbours:
            self._neighbours[settings] = Neighbours(settings)
        return self._neighbours[settings]

    def data(self, path: str) -> bytes:
        """The bytes of a file; none where it cannot be read."""
        try:
            return self._read(path)
        except MpslintError:
            return b""

    def _read(self, path: str) -> bytes:
        return read_bytes(path, self.settings.get(path, Settings()).max_file_size)

    def source(self, path: str) -> SourceFile | None:
        """A file's text and positions; None where it cannot be read."""
        if self._opened[0] != path:
            try:
                self._opened = (path, open_source(path, self._read(path)))
            except MpslintError:
                self._opened = (path, None)
        return self._opened[1]

    def _made(self, path: str) -> Context | None:
        source = self.source(path)
        if source is None:
            return None
        try:
            return Context(source, source.parse(), self.settings[path], self.neighbours(path))
        except (MpslintError, RecursionError):
            return None

    def home(self, path: str, qualified: str) -> tuple[str, str] | None:
        """The absolute path of the file that defines an imported name, and its name there."""
        found = self.neighbours(path).definition(path, qualified)
        if found is None:
            return None
        name = qualified.rpartition(".")[2]
        for known, bindings in found.context.names.module.bindings.items():
            if tuple(bindings) == found.bindings:
                name = known
                break
        return os.path.abspath(found.context.source.path), name


def nodes_at(context: Context) -> dict[tuple[int, int], list[ast.expr | ast.stmt]]:
    """The expressions and statements that start at each (row, column) of a file, the outermost
    first; a statement that is nothing but an expression is left out."""
    known = context.memo.get(_NODES)
    if isinstance(known, dict):
        return known
    found: dict[tuple[int, int], list[ast.expr | ast.stmt]] = {}
    for node in ast.walk(context.tree):
        if isinstance(node, ast.expr | ast.stmt) and not isinstance(node, ast.Expr):
            place = context.source.position(context.source.span(node)[0])
            found.setdefault(place, []).append(node)
    context.memo[_NODES] = found
    return found


def node_of(context: Context, finding: Finding) -> ast.AST | None:
    """The code that a finding points at; the attribute of a method that is named alone."""
    nodes = nodes_at(context).get((finding.row, finding.column), [])
    for node in nodes:
        end = context.source.position(context.source.span(node)[1])
        if end == (finding.end_row, finding.end_column):
            return node
    if nodes:
        return nodes[0]
    offset = context.source.starts[finding.row - 1] + finding.column - 1
    for attributes in context.index.attributes.values():
        for attribute in attributes:
            if attribute.lineno <= finding.row <= (attribute.end_lineno or 0):
                if context.name_token(attribute)[0] == offset:
                    return attribute
    return None
