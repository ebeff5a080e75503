"""One module per format; `render` picks it. Formats know findings, not where they came from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpslint.findings.results import FileResult
    from mpslint.model import Finding
    from mpslint.sources.source import SourceFile

FOR_PEOPLE = ("full", "concise", "grouped")
"""Formats that end with a summary."""
SHOW_FIXES = ("full", "json", "sarif")
"""Formats that hold the change that a fix would make."""
FORMATS = (*FOR_PEOPLE, "json", "github", "gitlab", "sarif", "junit", "pylint")


class Style:
    """What a format may need beside the results."""

    __slots__ = ("_known", "_read", "color", "unsafe", "width")

    def __init__(
        self,
        color: bool = False,
        unsafe: bool = False,
        read: Callable[[str], str] | None = None,
        width: int | None = None,
    ) -> None:
        """`read` gives the text of a file, for formats that show source."""
        self.color = color
        self.unsafe = unsafe
        """Unsafe fixes count as on offer."""
        self.width = width
        """Columns of the terminal; None where there is none."""
        self._read = read
        self._known: tuple[str, SourceFile | None] | None = None

    def source(self, path: str) -> SourceFile | None:
        """The file at `path`; None where it cannot be read any more."""
        if self._known is None or self._known[0] != path:
            self._known = (path, self._source(path))
        return self._known[1]

    def _source(self, path: str) -> SourceFile | None:
        from mpslint.errors import MpslintError
        from mpslint.sources.opening import source_of_text

        try:
            return None if self._read is None else source_of_text(self._read(path), path)
        except (MpslintError, OSError):
            return None

    def row(self, path: str, cell: int | None, row: int) -> int:
        """The row in the file itself: in a notebook, that of its JSON."""
        if cell is None:
            return row
        from mpslint.sources.opening import row_on_disk

        source = self.source(path)
        return 1 if source is None else row_on_disk(source, cell, row)

    def region(self, path: str, finding: Finding) -> tuple[int, int, int, int]:
        """Row, column, last row and end of a finding in the file itself, for programs that know
        nothing of cells."""
        if finding.cell is None:
            return finding.row, finding.column, finding.end_row, finding.end_column
        row = self.row(path, finding.cell, finding.row)
        return row, 1, row, 1


def render(name: str, results: Sequence[FileResult], style: Style) -> str:
    """The results in format `name` (of `FORMATS`), ending with a newline unless empty."""
    from importlib import import_module

    text: str = import_module(f"mpslint.output.{_MODULES.get(name, name)}").render(results, style)
    return text


_MODULES = {"json": "json_format"}
"""A module named as a standard one would hide it."""


def shown_path(path: str) -> str:
    """`path` relative to the current folder when it lies below it."""
    import os

    if not os.path.isabs(path):
        return path
    here = os.getcwd().rstrip(os.sep) + os.sep
    return path[len(here) :] if path.startswith(here) else path
