"""A notebook as a `SourceFile`: its text is that of all Python cells, one after another."""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from mpslint.errors import BadSource
from mpslint.model import Edit, Finding, Label
from mpslint.records import NamedTuple
from mpslint.sources.edits import kept_outside, spliced
from mpslint.sources.notebook import document
from mpslint.sources.notebook.magics import Masked, mask
from mpslint.sources.notebook.splice import json_edits
from mpslint.sources.source import SourceFile

if TYPE_CHECKING:
    from collections.abc import Sequence

_BETWEEN = "\n\n"
"""Ends the last line of a cell, and keeps "behind it" apart from "before the next cell"."""
_LANGUAGES = ("python", "python3", "ipython", "ipython3")


class Block(NamedTuple):
    """Where one cell stands in the text."""

    start: int
    cell: document.Cell
    masked: tuple[tuple[int, int], ...]
    """Offsets in the cell of what is not Python and must stay."""

    @property
    def end(self) -> int:
        return self.start + len(self.cell.text)


class NotebookSource(SourceFile):
    """The Python of a notebook, with the way back into its JSON."""

    __slots__ = ("_json_rows", "_raw", "blocks", "json", "unread", "unread_texts")

    def __init__(self, path: str, data: bytes) -> None:
        """Read `data`, the file's bytes. Raises `BadSource` for what is no notebook."""
        raw = data[len(codecs.BOM_UTF8) :] if data.startswith(codecs.BOM_UTF8) else data
        try:
            self.json = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            reason = f"not valid utf-8 at byte {error.start}, so it is no notebook"
            raise BadSource(path, reason) from None
        self._raw = data
        self._json_rows: dict[int, list[int]] | None = None
        self.unread: list[tuple[int, str]] = []
        """Cells whose Python does not parse, with the reason: they are left out."""
        found = document.parse(self.json, path)
        cells = found.cells if found.language in _LANGUAGES else ()
        self.blocks, text = _laid_out(cells, {})
        if not _parses(text):
            self.unread = [(c.number, why) for c in cells if (why := _syntax_error(c))]
            self.blocks, text = _laid_out(cells, dict(self.unread))
        numbers = {number for number, _ in self.unread}
        self.unread_texts = {c.number: c.text for c in cells if c.number in numbers}
        # Not `super().__init__`: a coding line in a cell means nothing to Jupyter.
        self.path, self.text, self.encoding, self.bom = path, text, "utf-8", False
        self.data = text.encode("utf-8", "surrogatepass")
        self._starts, self._newline, self._ascii = None, None, text.isascii()

    @property
    def on_disk(self) -> bytes:
        return self._raw

    def accepts(self, edit: Edit) -> bool:
        """Whether an edit stays in one cell and off its magics."""
        block = self._block(edit.start)
        if block is None or edit.end > block.end + 1:
            return False
        start, end = edit.start - block.start, edit.end - block.start
        return not any(first < end and start < last for first, last in block.masked) and not any(
            first < start == end < last for first, last in block.masked
        )

    def with_edits(self, edits: Sequence[Edit]) -> SourceFile:
        changes: list[Edit] = []
        expected: dict[int, str] = {}
        by_cell: dict[int, list[Edit]] = {}
        for edit in edits:
            inside = self._block(edit.start)
            if inside is not None:
                by_cell.setdefault(inside.cell.number, []).append(_in_cell(edit, inside))
        for block in self.blocks:
            local = by_cell.get(block.cell.number, [])
            changes += json_edits(self.json, block.cell, local)
            expected[block.cell.number] = spliced(block.cell.text, local)
        text = spliced(self.json, changes)
        bom = self._raw[: len(self._raw) - len(self.json.encode("utf-8"))]
        after = NotebookSource(self.path, bom + text.encode("utf-8"))
        written = {block.cell.number: block.cell.text for block in after.blocks}
        if not kept_outside(self.json, text, changes) or written != expected:
            raise BadSource(self.path, "an edit reached beyond its place")
        return after

    def place(self, row: int) -> tuple[int, int]:
        """(cell, row in the cell), both 1-based, of a row of the text."""
        block = self._block(self.starts[row - 1])
        if block is None:
            return 1, row
        return block.cell.number, row - self.position(block.start)[0] + 1

    def cell_of(self, row: int) -> int:
        return self.place(row)[0]

    def cell_line(self, cell: int, row: int) -> str:
        """A line of a cell as the notebook has it, magics included; empty where there is none."""
        for block in self.blocks:
            if block.cell.number == cell:
                lines = SourceFile.from_text(block.cell.text)
                return lines.line(row) if row <= len(lines.starts) else ""
        return ""

    def text_row(self, cell: int, row: int) -> int:
        """The row of the text in which a line of a cell stands: the inverse of `place`."""
        for block in self.blocks:
            if block.cell.number == cell:
                return self.position(block.start)[0] + row - 1
        return row

    def json_row(self, cell: int, row: int) -> int:
        """The row of the file in which a line of a cell stands; 1 where there is none."""
        if self._json_rows is None:
            lines = [match.end() for match in re.finditer("\n", self.json)]
            self._json_rows = {
                block.cell.number: [
                    bisect_right(lines, token.start) + 1
                    for token in block.cell.tokens
                    for _ in token.text.splitlines() or [""]
                ]
                for block in self.blocks
            }
        rows = self._json_rows.get(cell, [])
        return rows[row - 1] if row <= len(rows) else 1

    def cell_texts(self) -> dict[int, str]:
        """The text of each Python cell by its number."""
        return {block.cell.number: block.cell.text for block in self.blocks}

    def located(self, finding: Finding) -> Finding:
        """`finding` with the positions people see: cell, row in the cell, column."""
        if finding.cell is None:
            rows = finding.end_row - finding.row
            finding.cell, finding.row = self.place(finding.row)
            finding.end_row = finding.row + rows
            finding.labels = tuple(self._label(label) for label in finding.labels)
        return finding

    def _label(self, label: Label) -> Label:
        cell, row = self.place(label.row)
        return label._replace(row=row, cell=cell)

    def _block(self, offset: int) -> Block | None:
        at = bisect_right(self.blocks, offset, key=lambda block: block.start) - 1
        if at < 0 or offset > self.blocks[at].end + 1:
            return None
        return self.blocks[at]


def _laid_out(cells: Sequence[document.Cell], without: dict[int, str]) -> tuple[list[Block], str]:
    blocks, pieces, at = list[Block](), list[str](), 0
    for cell in cells:
        masked = mask(cell.text) if cell.number not in without else None
        if masked is None or not cell.tokens:
            continue
        blocks.append(Block(at, cell, masked.spans))
        pieces += [masked.text, _BETWEEN]
        at += len(masked.text) + len(_BETWEEN)
    return blocks, "".join(pieces)


def _parses(text: str) -> bool:
    try:
        SourceFile.from_text(text).parse()
    except BadSource:
        return False
    return True


def _syntax_error(cell: document.Cell) -> str | None:
    masked: Masked | None = mask(cell.text)
    if masked is None:
        return None
    try:
        SourceFile.from_text(masked.text + "\n").parse()
    except BadSource as error:
        return f"row {error.row}: {error.reason}" if error.row else error.reason
    return None


def _in_cell(edit: Edit, block: Block) -> Edit:
    """`edit` in offsets of the cell, whose last line has no newline of its own."""
    text, end = edit.text, edit.end - block.start
    start, length = edit.start - block.start, len(block.cell.text)
    expect = edit.expect
    if end <= length:
        return Edit(start, end, text, expect)
    body = text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text
    if start > length:
        return Edit(length, length, (text[len(body) :] or "\n") + body, "")
    expect = expect[: length - start]
    if not text and block.cell.text[start - 1 : start] == "\n":
        # The last line goes, and with it the newline that led to it.
        return Edit(start - 1, length, "", "\n" + expect)
    return Edit(start, length, body, expect)
