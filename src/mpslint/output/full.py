"""Each finding with its source line, a caret under the token, related places and the fix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpslint.errors import MpslintError
from mpslint.model import Applicability, placed
from mpslint.opening import line_of, source_of_text
from mpslint.output import shown_path
from mpslint.output.text import fixable, head, paint

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mpslint.model import Finding
    from mpslint.output import Style
    from mpslint.results import FileResult
    from mpslint.source import SourceFile

_WIDE = 110
"""Longer source lines are cut around the token."""


def render(results: Sequence[FileResult], style: Style) -> str:
    blocks = []
    for result in results:
        source = _source(result, style) if result.findings else None
        for finding in result.findings:
            blocks.append("\n".join(_block(result.path, finding, source, style)) + "\n\n")
    return "".join(blocks)


def _source(result: FileResult, style: Style) -> SourceFile | None:
    if style.read is None:
        return None
    try:
        return source_of_text(style.read(result.path), result.path)
    except (MpslintError, OSError):
        return None


def _block(path: str, finding: Finding, source: SourceFile | None, style: Style) -> Iterator[str]:
    shown = shown_path(path)
    width = len(str(max([finding.row, *(label.row for label in finding.labels)])))
    yield head(finding, style)
    yield f"{' ' * width}{paint('-->', 'blue', style)} {shown}:{finding.place}"
    bar = paint("|", "blue", style)
    line = line_of(source, finding.cell, finding.row) if source is not None else None
    if line is not None:
        last = finding.end_column if finding.end_row == finding.row else len(line) + 1
        number = paint(f"{finding.row:>{width}}", "blue", style)
        text, caret = _cut(line, finding.column, max(last, finding.column + 1))
        yield f"{' ' * width} {bar}"
        yield f"{number} {bar} {text}"
        yield f"{' ' * width} {bar} {paint(caret, 'red', style)}"
    for label in finding.labels:
        place = placed(label.cell, label.row, label.column)
        yield f"{' ' * width} {bar} {shown}:{place}: {label.message}"
    advice = _help(finding, style)
    if advice:
        yield f"{' ' * width} = {advice}"


def _cut(line: str, column: int, end: int) -> tuple[str, str]:
    """The line (tabs as four blanks, cut when long) and the caret line for [column, end)."""
    before, token, after = line[: column - 1], line[column - 1 : end - 1], line[end - 1 :]
    before, token, after = (part.replace("\t", "    ") for part in (before, token, after))
    if len(before) > _WIDE // 2:
        before = "..." + before[-(_WIDE // 2) :]
    if len(token) > _WIDE:
        token = token[:_WIDE] + "..."
    room = max(_WIDE - len(before) - len(token), 0)
    if len(after) > room:
        after = after[:room] + "..."
    return before + token + after, " " * _cells(before) + "^" * max(_cells(token), 1)


def _cells(text: str) -> int:
    """Terminal cells: wide characters take two, combining ones none."""
    if text.isascii():
        return len(text)
    import unicodedata

    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )


def _help(finding: Finding, style: Style) -> str | None:
    if finding.applicability is None:
        return None
    fix = finding.fix
    if fix is None:
        return None
    if fixable(finding, style):
        return f"help: {fix.message}"
    reason = (
        "unsafe fix, applied with `--unsafe-fixes`"
        if fix.applicability is Applicability.UNSAFE
        else "a suggestion, not applied"
    )
    return f"help: {fix.message} ({reason})"
