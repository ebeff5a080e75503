"""One labelled line of a port: what became of it under `mpslint fix`, and under people's hands."""

from __future__ import annotations

import ast
import difflib
import re
from typing import NamedTuple

from mpslint.checking.linter import lint
from mpslint.errors import BadSource
from mpslint.fixing.fixing import Planned, plan
from mpslint.model import Finding
from mpslint.project.project import Project
from mpslint.settings.settings import Settings
from mpslint.sources.opening import located
from mpslint.sources.source import SourceFile

Rows = tuple[int, int]
"""First and last row, 1-based; the last one is below the first where rows were removed."""


class Outcome(NamedTuple):
    verdict: str
    """agnostic, finding left, not changed or error."""
    reason: str
    rows: Rows
    """Where the line is in the fixed file."""

    @property
    def agnostic(self) -> bool:
        return self.verdict == "agnostic"


class FixedFile:
    """A file before and after `mpslint fix`, with the rows of one found in the other."""

    def __init__(self, path: str, data: bytes, *, unsafe: bool) -> None:
        settings = Settings()
        self.before = SourceFile(path, data)
        planned = plan(path, data, settings, unsafe=unsafe, project=Project(settings))
        self.error = planned if isinstance(planned, str) else planned.result.error
        self.after = planned.result.source if isinstance(planned, Planned) else self.before
        self.first = lint(self.before, settings)
        self.left = located(self.after, lint(self.after, settings))
        self._blocks = difflib.SequenceMatcher(
            None, lines(self.before.text), lines(self.after.text), autojunk=False
        ).get_opcodes()

    def outcome(self, row: int) -> Outcome:
        """What became of the line at `row` of the file as it was."""
        rows, changed = moved(self._blocks, row)
        if self.error is not None:
            return Outcome("error", self.error, rows)
        left = [f for f in self.left if rows[0] <= f.end_row and f.row <= rows[1]]
        if left:
            return Outcome("finding left", _why(left[0]), rows)
        own = _statement(self.before, row)
        if changed or (own is not None and self._touched(own)) or self._flag_read(row):
            return Outcome("agnostic", "", rows)
        if any(self._touched(around, mps=True) for around in _selections(self.before, row)):
            return Outcome("agnostic", "", rows)
        found = any(f.row <= row <= f.end_row for f in self.first)
        return Outcome("not changed", "finding gone" if found else "no finding", rows)

    def _touched(self, rows: Rows, *, mps: bool = False) -> bool:
        """Whether something changed inside these rows; with `mps`, whether that asks for MPS: an
        arm behind the last row counts."""
        (first, last), after = rows, lines(self.after.text)
        return any(
            ((start < last and first <= end) if start < end else first <= start < last + mps)
            and (not mps or any("mps" in line for line in after[new_start:new_end]))
            for tag, start, end, new_start, new_end in self._blocks
            if tag != "equal"
        )

    def _flag_read(self, row: int) -> bool:
        """Whether the line only sets a flag, and what reads the flag was changed."""
        match = re.match(r"\s*(\w+) *= .*cuda\.is_available\(\)", self.before.line(row))
        if match is None:
            return False
        word = re.compile(rf"\b{match[1]}\b")
        return any(
            moved(self._blocks, other)[1]
            for other in range(1, len(self.before.starts) + 1)
            if other != row and word.search(self.before.line(other))
        )

    def hunk(self, row: int, context: int = 2) -> str:
        """The change around a line, as a diff without file names."""
        return hunk(self.before.text, self.after.text, row, context)


def lines(text: str) -> list[str]:
    return text.splitlines()


def moved(blocks: list[tuple[str, int, int, int, int]], row: int) -> tuple[Rows, bool]:
    """Where a row went by difflib's opcodes, and whether it (or what follows it) changed."""
    for tag, start, end, new_start, new_end in blocks:
        if start < row <= end:
            if tag == "equal":
                at = new_start + row - start
                return (at, at), False
            return (new_start + 1, new_end), True
    return (row, row), False


def _statement(source: SourceFile, row: int) -> Rows | None:
    """Rows of the smallest statement around `row`, without the blocks below it."""
    around = _around(source, row)
    if not around:
        return None
    smallest = max(around, key=lambda node: (node.lineno, -(node.end_lineno or 0)))
    body = getattr(smallest, "body", None)
    if isinstance(body, list) and body:
        return smallest.lineno, max(body[0].lineno - 1, smallest.lineno)
    return smallest.lineno, smallest.end_lineno or smallest.lineno


def _selections(source: SourceFile, row: int) -> list[Rows]:
    """Rows of the `if` statements around `row` that may choose a device."""
    return [
        (node.lineno, node.end_lineno or node.lineno)
        for node in _around(source, row)
        if isinstance(node, ast.If) and _is_selection(node)
    ]


def _around(source: SourceFile, row: int) -> list[ast.stmt]:
    try:
        tree = source.parse()
    except BadSource:
        return []
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and node.lineno <= row <= (node.end_lineno or node.lineno)
    ]


def _is_selection(node: ast.If) -> bool:
    return all(
        len(block) <= 3 and all(not isinstance(s, ast.For | ast.While | ast.With) for s in block)
        for block in (node.body, node.orelse)
    )


def _why(finding: Finding) -> str:
    level = finding.applicability
    told = "needs a human" if level is None else f"{level.label} fix"
    return f"{finding.code} {finding.name}: {told}"


def hunk(before: str, after: str, row: int, context: int) -> str:
    """The part of the diff that concerns one row of `before`."""
    one, two = lines(before), lines(after)
    matcher = difflib.SequenceMatcher(None, one, two, autojunk=False)
    out: list[str] = []
    for tag, start, end, new_start, new_end in matcher.get_opcodes():
        near = start - context < row <= end + context
        if tag == "equal":
            low, high = max(start, row - 1 - context), min(end, row + context)
            out += [f"  {line}" for line in one[low:high]]
        elif near:
            out += [f"- {line}" for line in one[start:end]]
            out += [f"+ {line}" for line in two[new_start:new_end]]
    return "\n".join(out)
