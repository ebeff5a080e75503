"""The tree of a text that has changed a little: only the statements that the change may touch are
parsed again.

A statement of a module ends where its last line ends, whatever comes later, and the next one begins
at the margin. So the statements before the change stay as they are, and those behind it stay as
they are but for their rows. What lies between is parsed by itself; where that is no program of its
own (an `else:` without its `if`, a bracket that is closed further down), the whole text is. The
same holds in a class or function below its first statement, which says how deep the others stand.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.records import NamedTuple
from mpslint.semantics.syntax.index import Index
from mpslint.sources.cuts import begins_row, first_row, goes_on
from mpslint.sources.source import SourceFile, parsed_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mpslint.semantics.syntax.index import Known

_UNUSUAL = "barry_as_FLUFL"
"""With this, what stands at the top of a file changes how the rest of it is read."""
_NO_PROGRAM = (SyntaxError, ValueError, RecursionError, MemoryError)
_BLANKS = " \t"
_BLOCK = "if 1:\n"
"""Behind this a part of a class or function is a program."""
_Holder = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


class Tree:
    """The tree of one file, brought up to date from text to text. What it gave before is changed
    in place, so nobody may hold on to that."""

    def __init__(self) -> None:
        self._text = ""
        self._tree: ast.Module | None = None
        self._known: Known = {}
        self._changed: set[ast.stmt] = set()
        """Statements of which a part is another since they were looked at for the index."""

    def index(self, source: SourceFile) -> Index:
        """The index of a text. Raises `BadSource` as `source.parse` does."""
        tree = self.of(source)
        index = Index(tree, self._known, self._changed)
        self._changed = set()
        return index

    def of(self, source: SourceFile) -> ast.Module:
        """The tree of a text. Raises `BadSource` as `source.parse` does."""
        tree = self._tree
        if tree is not None and self._mended(tree, source):
            # What others keep of the text before, they keep with its module.
            tree = ast.Module(tree.body, tree.type_ignores)
        else:
            tree = source.parse()
        # Of a text that cannot be parsed nothing is kept: the next one is held against the last
        # that could.
        self._tree, self._text = tree, source.text
        return tree

    def _mended(self, tree: ast.Module, source: SourceFile) -> bool:
        """Whether the tree could be brought up to date by a part of the text."""
        old, new = self._text, source.text
        if old == new:
            return True
        if any(_UNUSUAL in text or _has_lone_return(text) for text in (old, new)):
            return False
        mending = _Mending(_change(old, new), source.path)
        try:
            done = mending.mend(tree.body, None)
        except _NO_PROGRAM:
            return False
        self._changed |= mending.changed
        return done


class _Change(NamedTuple):
    old: list[str]
    new: list[str]
    """The rows of the texts."""
    top: int
    bottom: int
    """The first and the last row of the old text that changed, or into which something came."""

    @property
    def added(self) -> int:
        return len(self.new) - len(self.old)


class _Mending:
    """Brings a tree up to date by one change."""

    def __init__(self, change: _Change, path: str) -> None:
        self._change, self._path = change, path
        self.changed: set[ast.stmt] = set()
        """The classes and functions that stay, with another body."""

    def mend(self, body: list[ast.stmt], end: int | None, depth: str | None = None) -> bool:
        """Brings a block up to date; whether that could be done. `end`: the last old row that can
        belong to it, where it does not go on to the end of the text; `depth`: the blanks before its
        statements, where it is not a module. Raises `SyntaxError` for what cannot be parsed."""
        before, after = self._kept(body, nested=depth is not None)
        if depth is not None and not before:
            return False
        last = first_row(body[-after]) - 1 if after else end
        inner = body[before : len(body) - after]
        held = inner[0] if len(inner) == 1 else None
        if isinstance(held, _Holder) and self._mend_inside(held, last):
            self._shift(body[len(body) - after :])
            return True
        if before + after == 0:
            return False
        previous = body[before - 1] if before else None
        between = self._parsed(previous, last, depth, ends=not after)
        if between is None:
            return False
        self._shift(body[len(body) - after :])
        body[before : len(body) - after] = between
        return True

    def _mend_inside(self, held: _Holder, end: int | None) -> bool:
        """Brings a class or function up to date whose header and first statement stay."""
        change, body = self._change, held.body
        if not begins_row(body, 0, lambda row: change.old[row - 1], nested=True):
            return False
        first = change.old[first_row(body[0]) - 1]
        last = body[-1]
        is_below = first_row(last) > change.bottom
        if not self.mend(body, end, first[: len(first) - len(first.lstrip(_BLANKS))]):
            return False
        if body[-1] is not last or isinstance(last, _Holder):
            held.end_lineno, held.end_col_offset = body[-1].end_lineno, body[-1].end_col_offset
        elif is_below and held.end_lineno is not None:
            held.end_lineno += change.added
        self.changed.add(held)
        return True

    def _kept(self, body: Sequence[ast.stmt], *, nested: bool) -> tuple[int, int]:
        """How many statements before a change, and behind it, are as they were."""
        rows, before, after = self._change.old, 0, 0
        while before < len(body) and (body[before].end_lineno or 0) < self._change.top:
            before += 1
        while 0 < before < len(body) and first_row(body[before]) <= (
            body[before - 1].end_lineno or 0
        ):
            before -= 1  # They share a row.
        while after < len(body) - before and first_row(body[-1 - after]) > self._change.bottom:
            after += 1
        while after and not begins_row(
            body, len(body) - after, lambda row: rows[row - 1], nested=nested
        ):
            after -= 1
        return before, after

    def _parsed(
        self, previous: ast.stmt | None, last: int | None, depth: str | None, *, ends: bool
    ) -> list[ast.stmt] | None:
        """The statements from behind `previous` up to an old row; None where they are not parts of
        the block by themselves. `ends`: the block ends with them."""
        new, first = self._change.new, (previous.end_lineno or 0) if previous is not None else 0
        rows = new[first : None if last is None else last + self._change.added]
        # A backslash joins the next line to what was thought to have ended.
        if (first and goes_on(new[first - 1])) or (last is not None and rows and goes_on(rows[-1])):
            return None
        text = "\n".join(rows) + "\n"
        if depth is None:
            return parsed_text("\n" * first + text, self._path).body
        body: list[ast.stmt] = []
        said = next((row for row in rows if _speaks(row)), None)
        if said is not None:
            if said[: len(said) - len(said.lstrip(_BLANKS))] != depth:
                return None
            block = parsed_text("\n" * (first - 1) + _BLOCK + text, self._path).body
            if len(block) > 1 or not isinstance(block[0], ast.If) or block[0].orelse:
                return None
            body = block[0].body
        if ends and self._ends_behind(body[-1] if body else previous):
            return None
        return body

    def _ends_behind(self, statement: ast.stmt | None) -> bool:
        """Whether a block ends behind its last statement: a semicolon is a part of it."""
        if statement is None or not statement.end_lineno:
            return True
        row = self._change.new[statement.end_lineno - 1].encode("utf-8", "surrogatepass")
        return row[statement.end_col_offset :].lstrip().startswith(b";")

    def _shift(self, statements: Iterable[ast.stmt]) -> None:
        """Move statements down, with all that is in them."""
        rows = self._change.added
        stack: list[ast.AST] = list(statements) if rows else []
        while stack:
            node = stack.pop()
            fields = node.__dict__
            if "lineno" in fields:
                fields["lineno"] += rows
                if fields.get("end_lineno") is not None:
                    fields["end_lineno"] += rows
            for child in fields.values():
                if isinstance(child, ast.AST):
                    stack.append(child)
                elif child.__class__ is list:
                    stack += [item for item in child if isinstance(item, ast.AST)]


def _speaks(row: str) -> bool:
    """Whether something other than a comment stands in a row."""
    text = row.strip(" \t\f\r")
    return bool(text) and not text.startswith("#")


def _change(old: str, new: str) -> _Change:
    start = _common(old, new)
    end = _common_end(old, new, min(len(old), len(new)) - start)
    top, bottom = old.count("\n", 0, start) + 1, old.count("\n", 0, len(old) - end) + 1
    return _Change(old.split("\n"), new.split("\n"), top, bottom)


def _common(old: str, new: str) -> int:
    """How many characters two texts begin with in common."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _common_end(old: str, new: str, most: int) -> int:
    """How many of at most so many characters they end with in common."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if old[len(old) - middle : len(old) - low] == new[len(new) - middle : len(new) - low]:
            low = middle
        else:
            high = middle - 1
    return low


def _has_lone_return(text: str) -> bool:
    """Whether a carriage return ends a line by itself: rows are counted by line feeds here."""
    return text.count("\r") != text.count("\r\n")
