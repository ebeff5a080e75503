"""Each finding with its source line, a caret under the token, related places, and the change that
its fix would make. Nothing is wider than the terminal."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mpslint.basics.printable import printable
from mpslint.model import Applicability, placed
from mpslint.output import shown_path
from mpslint.output.cells import cut, cut_left, wrapped
from mpslint.output.diff import hunks
from mpslint.output.text import columns_left, fixable, head, paint
from mpslint.sources.opening import line_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mpslint.findings.results import FileResult
    from mpslint.model import Edit, Finding, Fix
    from mpslint.output import Style
    from mpslint.sources.source import SourceFile

_WIDE = 110
"""Longer source lines are cut around the token where there is no terminal."""
_INDENT = "  "
_SHARED = (
    "Each change is shown as if it were the only one: `mpslint fix` lets the {} files above that "
    "get a selection share one, in a new module, where they can import that."
)
_COLORS = {"-": "removed", "+": "added"}


def render(results: Sequence[FileResult], style: Style) -> str:
    blocks = []
    selecting = 0
    for result in results:
        source = style.source(result.path) if result.findings else None
        shown: dict[tuple[Edit, ...], Finding] = {}
        for finding in result.findings:
            block = _block(result.path, finding, source, style, shown)
            blocks.append("\n".join(block) + "\n\n")
        selecting += any(_selects(edit) for edits in shown for edit in edits)
    if selecting > 1:
        said = f"{_SHARED.format(selecting)} `mpslint fix --diff` shows it."
        blocks.append("\n".join(wrapped(said, columns_left(style, 0))) + "\n\n")
    room = columns_left(style, 0)
    if blocks and room is not None:  # A person reads along.
        blocks.append("\n".join(wrapped(_explained(results), room)) + "\n\n")
    return "".join(blocks)


def _selects(edit: Edit) -> bool:
    """Whether an edit writes a selection of the device beside what is there."""
    return edit.start == edit.end and "is_available" in edit.text


def _explained(results: Sequence[FileResult]) -> str:
    """How to read more of the rule that was broken most."""
    found = Counter(finding.code for result in results for finding in result.findings)
    code = min(found, key=lambda one: (-found[one], one))
    more = ", or the code of another rule" if len(found) > 1 else ""
    return f"`mpslint rule {code}`{more}: what it means, and what is not flagged"


def _block(
    path: str,
    finding: Finding,
    source: SourceFile | None,
    style: Style,
    changes: dict[tuple[Edit, ...], Finding],
) -> Iterator[str]:
    """`changes` are those of the file that were shown, each with the first that makes it."""
    shown = printable(shown_path(path))
    width = len(str(max([finding.row, *(label.row for label in finding.labels)])))
    yield from _head(finding, style)
    room = columns_left(style, width + 4)
    place = cut_left(f"{shown}:{finding.place}", room)
    yield f"{' ' * width}{paint('-->', 'blue', style)} {place}"
    bar = paint("|", "blue", style)
    line = line_of(source, finding.cell, finding.row) if source is not None else None
    if line is not None:
        last = finding.end_column if finding.end_row == finding.row else len(line) + 1
        number = paint(f"{finding.row:>{width}}", "blue", style)
        text, caret = cut(line, finding.column, max(last, finding.column + 1), room or _WIDE)
        yield f"{' ' * width} {bar}"
        yield f"{number} {bar} {text}".rstrip()
        yield f"{' ' * width} {bar} {paint(caret, 'red', style)}"
    for label in finding.labels:
        where = placed(label.cell, label.row, label.column)
        said = f"{shown}:{where}: {printable(label.message)}"
        for part in wrapped(said, room):
            yield f"{' ' * width} {bar} {part}"
    yield from _help(finding, source, width, style, changes)


def _head(finding: Finding, style: Style) -> Iterator[str]:
    whole, room = head(finding, style), columns_left(style, 0)
    mark = len(finding.code) + (5 if fixable(finding, style) else 1)
    message = printable(finding.message)
    first, *rest = wrapped(message, room and room - len(_INDENT), room and room - mark)
    yield whole.removesuffix(message) + first
    yield from (_INDENT + part for part in rest)


def _help(
    finding: Finding,
    source: SourceFile | None,
    width: int,
    style: Style,
    changes: dict[tuple[Edit, ...], Finding],
) -> Iterator[str]:
    fix = finding.fix if finding.applicability is not None else None
    room = columns_left(style, 0)
    if fix is None:
        said = finding.unfixed
        if said and said not in finding.message:
            yield from wrapped(f"no fix: {printable(said)}", room)
        return
    bar = paint("|", "blue", style)
    reason = ""
    if not fixable(finding, style):
        reason = (
            " (unsafe fix, applied with `--unsafe-fixes`)"
            if fix.applicability is Applicability.UNSAFE
            else " (a suggestion, not applied)"
        )
    # Of one change that mends several findings, the first shows all.
    first_with = changes.setdefault(fix.edits, finding)
    if first_with is not finding:
        reason += f": the same change as at {first_with.place}"
    first, *rest = wrapped(f"help: {printable(fix.message)}{reason}", room)
    yield paint("help", "cyan", style) + first.removeprefix("help")
    yield from rest
    if source is not None and first_with is finding:
        yield from _change(fix, source, width, bar, style)


def _change(fix: Fix, source: SourceFile, width: int, bar: str, style: Style) -> Iterator[str]:
    found = list(hunks(fix, source))
    numbers = [line.number for _, lines in found for line in lines if line.number is not None]
    width = max([width, *(len(str(number)) for number in numbers)])
    room = columns_left(style, width + 3) or _WIDE
    for cell, lines in found:
        about = "" if cell is None else f" cell {cell}"
        yield f"{' ' * width} {bar}{about}"
        for number, sign, text in lines:
            shown, _ = cut(text, 1, 1, room)
            color = _COLORS.get(sign)
            body = f"{sign} {shown}".rstrip()
            margin = paint(f"{number or '':>{width}}", "blue", style)
            yield f"{margin} {paint(body, color, style) if color else body}".rstrip()
    yield f"{' ' * width} {bar}"
