"""The tree of a text that has changed a little: only the statements that the change may touch are
parsed again.

A statement of a module ends where its last line ends, whatever comes later, and the next one begins
at the margin. So the statements before the change stay as they are, and those behind it stay as
they are but for their rows. What lies between is parsed by itself; where that is no program of its
own (an `else:` without its `if`, a bracket that is closed further down), the whole text is.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.cuts import begins_row, first_row, goes_on
from mpslint.semantics.index import Index
from mpslint.source import SourceFile, parsed_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mpslint.semantics.index import Known

_UNUSUAL = "barry_as_FLUFL"
"""With this, what stands at the top of a file changes how the rest of it is read."""


class Tree:
    """The tree of one file, brought up to date from text to text. What it gave before is changed
    in place, so nobody may hold on to that."""

    def __init__(self) -> None:
        self._text = ""
        self._tree: ast.Module | None = None
        self._known: Known = {}

    def index(self, source: SourceFile) -> Index:
        """The index of a text. Raises `BadSource` as `source.parse` does."""
        return Index(self.of(source), self._known)

    def of(self, source: SourceFile) -> ast.Module:
        """The tree of a text. Raises `BadSource` as `source.parse` does."""
        tree = self._tree
        if tree is None or not self._mended(tree, source):
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
        body = tree.body
        before, after = _kept(body, old, new)
        if before + after == 0:
            return False
        added = new.count("\n") - old.count("\n")
        first = (body[before - 1].end_lineno or 0) if before else 0
        last = first_row(body[-after]) + added - 1 if after else None
        lines = new.split("\n")
        part = lines[first:last]
        # A backslash joins the next line to what was thought to have ended.
        if (first and goes_on(lines[first - 1])) or (after and part and goes_on(part[-1])):
            return False
        try:
            between = parsed_text("\n" * first + "\n".join(part) + "\n", source.path).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
        if added:
            _shift(body[len(body) - after :], added)
        body[before : len(body) - after] = between
        return True


def _kept(body: Sequence[ast.stmt], old: str, new: str) -> tuple[int, int]:
    """How many statements before a change, and behind it, are as they were."""
    start = _common(old, new)
    end = _common_end(old, new, min(len(old), len(new)) - start)
    top = old.count("\n", 0, start) + 1  # the first row that changed, or into which something came
    bottom = old.count("\n", 0, len(old) - end) + 1
    before = 0
    while before < len(body) and (body[before].end_lineno or 0) < top:
        before += 1
    while 0 < before < len(body) and first_row(body[before]) <= (body[before - 1].end_lineno or 0):
        before -= 1  # They share a row.
    after = 0
    while after < len(body) - before and first_row(body[-1 - after]) > bottom:
        after += 1
    rows = old.split("\n")
    while after and not begins_row(body, len(body) - after, lambda row: rows[row - 1]):
        after -= 1
    return before, after


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


def _shift(statements: Iterable[ast.stmt], rows: int) -> None:
    """Move statements down, with all that is in them."""
    stack: list[ast.AST] = list(statements)
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
