"""`# noqa` comments for findings that are there: `mpslint check --add-noqa`, and the editor."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from mpslint.findings.suppress import Line, lines, noqa_end
from mpslint.model import Edit
from mpslint.sources.opening import row_in_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mpslint.model import Finding
    from mpslint.sources.source import SourceFile


def noqa_edits(source: SourceFile, findings: Iterable[Finding]) -> list[Edit]:
    """The edits that silence `findings`, in order: one a line. A comment that is there gets the
    codes, a line without one gets a comment behind all that belongs to it."""
    found = list(lines(source))
    wanted: dict[int, list[str]] = {}
    for finding in findings:
        row = row_in_text(source, finding.cell, finding.row)
        at = bisect_left(found, row, key=lambda line: line.last)
        if at < len(found) and found[at].first <= row:
            wanted.setdefault(at, []).append(finding.code)
    made = (_edit(source, found[at], sorted(set(wanted[at]))) for at in sorted(wanted))
    return [edit for edit in made if source.accepts(edit)]


def _edit(source: SourceFile, line: Line, codes: Sequence[str]) -> Edit:
    listed = ", ".join(codes)
    if line.comment is not None:
        end = noqa_end(line.comment)
        if end is not None:
            return Edit(end, end, f", {listed}", "")
    stripped = source.text[source.starts[line.last - 1] : line.end].rstrip(" \t")
    start = source.starts[line.last - 1] + len(stripped)
    return Edit(start, line.end, f"  # noqa: {listed}", source.text[start : line.end])
