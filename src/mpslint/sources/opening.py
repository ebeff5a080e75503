"""Files by their kind: Python files as they are, notebooks through their adapter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpslint.sources.source import SourceFile

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mpslint.model import Finding

NOTEBOOK = ".ipynb"


def is_notebook(path: str) -> bool:
    return path.endswith(NOTEBOOK)


def open_source(path: str, data: bytes) -> SourceFile:
    """The file as rules see it. Raises `BadSource` (one line, with the way out)."""
    if is_notebook(path):
        from mpslint.sources.notebook.source import NotebookSource

        return NotebookSource(path, data)
    return SourceFile(path, data)


def source_of_text(text: str, path: str) -> SourceFile:
    """The file whose decoded bytes are `text`, for formats that show code."""
    if is_notebook(path):
        return open_source(path, text.encode("utf-8", "surrogatepass"))
    return SourceFile.from_text(text, path)


def text_on_disk(path: str, data: bytes) -> str:
    """The decoded bytes of a file: what `source_of_text` takes. Raises `BadSource`."""
    if is_notebook(path):
        from codecs import BOM_UTF8

        return data.removeprefix(BOM_UTF8).decode("utf-8", "replace")
    return SourceFile(path, data).text


def located(source: SourceFile, findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings with the positions that people see (in notebooks those in the cell)."""
    if not is_notebook(source.path):
        return tuple(findings)
    from mpslint.sources.notebook.source import NotebookSource

    if not isinstance(source, NotebookSource):
        return tuple(findings)
    return tuple(source.located(finding) for finding in findings)


def position(source: SourceFile, offset: int) -> tuple[int | None, int, int]:
    """(cell, row, column) of an offset; the cell is None in a Python file."""
    row, column = source.position(offset)
    if is_notebook(source.path):
        from mpslint.sources.notebook.source import NotebookSource

        if isinstance(source, NotebookSource):
            return (*source.place(row), column)
    return None, row, column


def spoken_line(source: SourceFile, offset: int) -> str:
    """The line of an offset, for messages: `line 40`, in a notebook `line 3 of cell 12`."""
    cell, row, _ = position(source, offset)
    return spoken(cell, row)


def spoken(cell: int | None, row: int) -> str:
    """A row of a file, or of a cell, for messages."""
    return f"line {row}" if cell is None else f"line {row} of cell {cell}"


def line_of(source: SourceFile, cell: int | None, row: int) -> str | None:
    """The text of a line by the position that people see; None where there is none."""
    if cell is not None:
        from mpslint.sources.notebook.source import NotebookSource

        return source.cell_line(cell, row) if isinstance(source, NotebookSource) else None
    return source.line(row) if row <= len(source.starts) else None


def row_in_text(source: SourceFile, cell: int | None, row: int) -> int:
    """The row of `source.text` by the position that people see."""
    if cell is None:
        return row
    from mpslint.sources.notebook.source import NotebookSource

    return source.text_row(cell, row) if isinstance(source, NotebookSource) else row


def row_on_disk(source: SourceFile, cell: int, row: int) -> int:
    """The row in a notebook's JSON of a row of a cell; 1 where that cannot be told."""
    from mpslint.sources.notebook.source import NotebookSource

    return source.json_row(cell, row) if isinstance(source, NotebookSource) else 1


def unread(source: SourceFile) -> str | None:
    """One line about cells that do not parse; None where all do."""
    if not is_notebook(source.path):
        return None
    from mpslint.sources.notebook.source import NotebookSource

    if not isinstance(source, NotebookSource) or not source.unread:
        return None
    number, why = source.unread[0]
    more = f" (and {len(source.unread) - 1} more)" if len(source.unread) > 1 else ""
    return f"{source.path}: cell {number}{more} is left out: {why}"


def texts_by_cell(source: SourceFile) -> dict[int | None, str]:
    """The code of each cell by its number; that of a Python file under None."""
    if is_notebook(source.path):
        from mpslint.sources.notebook.source import NotebookSource

        if isinstance(source, NotebookSource):
            return {block.cell.number: block.cell.text for block in source.blocks}
    return {None: source.text}


def without_pictures(path: str, data: bytes) -> bytes:
    """The bytes of a file that are kept beside those of others: of a notebook no pictures."""
    if not is_notebook(path):
        return data
    from mpslint.sources.notebook.document import without_outputs

    return without_outputs(data)
