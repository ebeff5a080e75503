"""A Python file as bytes, text and positions.

Decoding follows PEP 263 (BOM, coding line, else UTF-8) and keeps newlines as they are, so
that `text.encode(encoding)` gives the same bytes back. Lines are those of the Python
tokenizer: `\\n`, `\\r\\n` and a lone `\\r` end one; form feeds and Unicode separators do not.
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right
from collections import Counter
from typing import TYPE_CHECKING, cast

from mpslint.errors import BadSource
from mpslint.sources.edits import kept_outside, spliced

if TYPE_CHECKING:
    import ast
    from collections.abc import Sequence

    from mpslint.model import Edit

_NEWLINE = re.compile(r"\r\n|\r|\n")
_CODING = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_BLANK = re.compile(rb"^[ \t\f]*(?:#.*)?$")
_BOM = codecs.BOM_UTF8
_ONLY_AST = 0x400  # ast.PyCF_ONLY_AST


_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_HEAD = 4096
"""The first two lines are looked for in so many bytes."""


def declared_encoding(data: bytes) -> str:
    """The codec name of a Python file by PEP 263; raises `LookupError` for an unknown one."""
    if data.startswith(_BOM):
        return "utf-8"
    for line in re.split(rb"\r\n|\r|\n", data[:_HEAD], maxsplit=2)[:2]:
        match = _CODING.match(line)
        if match:
            return _codec(match.group(1).decode("ascii", "replace"))
        if not _BLANK.match(line):
            break
    return "utf-8"


def _codec(name: str) -> str:
    """Editors append to names (`utf-8-unix`); Python's own tokenizer cuts it off like this."""
    plain = name[:12].lower().replace("_", "-")
    if plain == "utf-8" or plain.startswith("utf-8-"):
        return "utf-8"
    if plain.startswith(("latin-1-", "iso-8859-1-", "iso-latin-1-")) or plain in (
        "latin-1",
        "iso-8859-1",
        "iso-latin-1",
    ):
        return "iso8859-1"
    return codecs.lookup(name).name


def parsed_text(text: str, path: str) -> ast.Module:
    """The stdlib tree of a text, or what Python raises for it."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # What `ast.parse` does; a file that is only checked never imports `ast`.
        return cast("ast.Module", compile(text, path, "exec", _ONLY_AST, dont_inherit=True))


class SourceFile:
    """Text of one file and the arithmetic between offsets, rows and columns."""

    __slots__ = ("_ascii", "_newline", "_starts", "bom", "data", "encoding", "path", "text")

    def __init__(self, path: str, data: bytes) -> None:
        """Decode `data`. Raises `BadSource` (one line, with the way out) when it cannot."""
        self.path = path
        self.data = data
        self.bom = data.startswith(_BOM)
        if data.startswith(_UTF16):
            raise BadSource(path, "is UTF-16, which Python does not read; save it as UTF-8")
        try:
            self.encoding = declared_encoding(data)
            self.text = (data[len(_BOM) :] if self.bom else data).decode(self.encoding)
        except LookupError as error:
            raise BadSource(path, f"{error}; save the file as UTF-8") from None
        except UnicodeDecodeError as error:
            reason = f"not valid {error.encoding} at byte {error.start}"
            raise BadSource(path, f"{reason}; save it as UTF-8 or declare its encoding") from None
        except ValueError as error:
            raise BadSource(path, f"cannot be decoded: {error}; save it as UTF-8") from None
        if "\0" in self.text:
            raise BadSource(path, "contains null bytes, so it is not Python source")
        self._starts: list[int] | None = None
        self._newline: str | None = None
        self._ascii = self.text.isascii()

    @classmethod
    def from_text(cls, text: str, path: str = "<text>") -> SourceFile:
        """A file of this text, whatever encoding a coding line in it names."""
        try:
            encoding = declared_encoding(text[:_HEAD].encode("utf-8", "replace"))
            source = cls(path, text.encode(encoding))
        except (LookupError, ValueError, BadSource):
            source = cls(path, b"")
            source.data = text.encode("utf-8", "surrogatepass")
        source.text, source._ascii = text, text.isascii()
        return source

    def with_text(self, text: str) -> SourceFile:
        """The same file with another text, in the same encoding.

        Raises `BadSource` when the bytes of either text would not read as that text again.
        """
        changed = SourceFile(self.path, self.encode(text))
        if changed.text != text or self.encode(self.text) != self.data:
            reason = f"its encoding, {self.encoding}, does not survive a rewrite"
            raise BadSource(self.path, f"{reason}; save it as UTF-8")
        return changed

    def with_edits(self, edits: Sequence[Edit]) -> SourceFile:
        """The same file after `edits` (in order, none overlapping).

        Held against this one: raises `BadSource` when anything else would change.
        """
        text = spliced(self.text, edits)
        if not kept_outside(self.text, text, edits):
            raise BadSource(self.path, "an edit reached beyond its place")
        return self.with_text(text)

    def accepts(self, edit: Edit) -> bool:
        """Whether an edit may be made at its place at all."""
        return True

    @property
    def on_disk(self) -> bytes:
        """The bytes of the file."""
        return self.data

    def encode(self, text: str) -> bytes:
        """`text` as this file's bytes. Raises `BadSource` if its encoding lacks a character."""
        try:
            return (_BOM if self.bom else b"") + text.encode(self.encoding)
        except UnicodeEncodeError as error:
            raise BadSource(self.path, f"{error}; save the file as UTF-8") from None

    @property
    def starts(self) -> list[int]:
        """Offset of the first character of each line."""
        if self._starts is None:
            self._starts = [0, *(m.end() for m in _NEWLINE.finditer(self.text))]
        return self._starts

    @property
    def newline(self) -> str:
        """The newline to write: the one that most lines of the file end in, of as many the first;
        `\\n` for a file without any."""
        if self._newline is None:
            counted = Counter(match.group() for match in _NEWLINE.finditer(self.text))
            self._newline = max(counted, key=counted.__getitem__, default="\n")
        return self._newline

    def parse(self, *, strictly: bool = False) -> ast.Module:
        """The stdlib tree. Raises `BadSource` with the row for what this Python cannot parse.

        Where all that stands against it is `async` as a name, as it was before Python 3.7, the file
        is read as it was meant; not so `strictly`.
        """
        try:
            return parsed_text(self.text, self.path)
        except SyntaxError as error:
            tree = None if strictly else self._as_it_was_meant()
            if tree is not None:
                return tree
            raise BadSource(
                self.path,
                f"syntax error: {error.msg}",
                row=error.lineno or 1,
                column=error.offset or 1,
            ) from None
        except (RecursionError, MemoryError):
            raise BadSource(self.path, "nested too deeply to parse; exclude this file") from None
        except ValueError as error:
            raise BadSource(self.path, str(error)) from None

    def _as_it_was_meant(self) -> ast.Module | None:
        """The tree with `async` as a name; None where that is not what stands against it."""
        from mpslint.sources.old_names import restore, substituted

        replaced = substituted(self.text)
        if replaced is None:
            return None
        try:
            tree = parsed_text(replaced[0], self.path)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
        restore(tree, replaced[1])
        return tree

    def line(self, row: int) -> str:
        """Line `row` (1-based) without its newline."""
        starts = self.starts
        end = starts[row] if row < len(starts) else len(self.text)
        return self.text[starts[row - 1] : end].rstrip("\r\n")

    def offset(self, row: int, utf8_column: int) -> int:
        """Offset of an `ast` position (`lineno`, `col_offset` in UTF-8 bytes)."""
        start = self.starts[row - 1]
        if self._ascii or not utf8_column:
            return start + utf8_column
        line = self.text[start : start + utf8_column]
        if line.isascii():
            return start + utf8_column
        return start + len(line.encode("utf-8")[:utf8_column].decode("utf-8", "ignore"))

    def cell_of(self, row: int) -> int:
        """The part of the file that a row is in, of those that are run one by one."""
        return 0

    def position(self, offset: int) -> tuple[int, int]:
        """(row, column), both 1-based, the column in characters."""
        row = bisect_right(self.starts, offset)
        return row, offset - self.starts[row - 1] + 1

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Offsets of a positioned node."""
        row, end_row = node.lineno, node.end_lineno  # type: ignore[attr-defined]
        column, end_column = node.col_offset, node.end_col_offset  # type: ignore[attr-defined]
        return self.offset(row, column), self.offset(end_row, end_column)

    def segment(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.text[start:end]

    def indentation(self, row: int) -> str:
        line = self.line(row)
        return line[: len(line) - len(line.lstrip(" \t\f"))]
