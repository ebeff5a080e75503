"""Findings as the diagnostics of the protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.capabilities import get_capability

from mpslint.model import Severity
from mpslint.rules.registry import published_url

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mpslint.model import Finding
    from mpslint.server.analysis import Analysis, Problem
    from mpslint.server.documents import Part, Snapshot

SOURCE = "mpslint"
_SEVERITIES = {
    Severity.BREAKS: types.DiagnosticSeverity.Error,
    Severity.IGNORES: types.DiagnosticSeverity.Warning,
    Severity.SLOW: types.DiagnosticSeverity.Information,
}


def diagnostics_of(
    analysis: Analysis, client: types.ClientCapabilities
) -> Iterator[tuple[Part, list[types.Diagnostic]]]:
    """Each text of a snapshot with its diagnostics, none for most."""
    related = get_capability(client, "text_document.publish_diagnostics.related_information", False)
    found: dict[int | None, list[types.Diagnostic]] = {cell: [] for cell in analysis.snapshot.parts}
    for finding in analysis.findings:
        found[finding.cell].append(_diagnostic(finding, analysis.snapshot, bool(related)))
    for problem in analysis.problems:
        cell = problem.cell if problem.cell in found else next(iter(found), None)
        if cell in found:
            found[cell].append(_problem(problem, analysis.snapshot.parts[cell]))
    for cell, items in found.items():
        yield analysis.snapshot.parts[cell], items


def range_of(finding: Finding, part: Part) -> types.Range:
    """Where the editor underlines a finding."""
    start = part.place(finding.row, finding.column)
    return part.text.range(start, max(start, part.place(finding.end_row, finding.end_column)))


def _diagnostic(finding: Finding, snapshot: Snapshot, related: bool) -> types.Diagnostic:
    address = published_url(finding.name)
    return types.Diagnostic(
        range=range_of(finding, snapshot.parts[finding.cell]),
        message=finding.message,
        severity=_SEVERITIES[finding.severity],
        code=finding.code,
        code_description=types.CodeDescription(address) if address else None,
        source=SOURCE,
        related_information=_related(finding, snapshot) if related and finding.labels else None,
    )


def _related(finding: Finding, snapshot: Snapshot) -> list[types.DiagnosticRelatedInformation]:
    places = []
    for label in finding.labels:
        part = snapshot.parts[label.cell]
        at = part.place(label.row, label.column)
        location = types.Location(part.uri, part.text.range(at, at))
        places.append(types.DiagnosticRelatedInformation(location, label.message))
    return places


def _problem(problem: Problem, part: Part) -> types.Diagnostic:
    text = part.text
    row = min(problem.row, len(text.starts))
    end = text.line_end(row - 1)
    start = min(part.place(row, problem.column), end)
    return types.Diagnostic(
        range=text.range(start, end),
        message=problem.reason,
        severity=types.DiagnosticSeverity.Error,
        source=SOURCE,
    )
