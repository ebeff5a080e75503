"""The outcome of checking one file, and findings as plain data for caches and processes."""

from __future__ import annotations

from typing import Any

from mpslint.model import Applicability, Confidence, Edit, Finding, Fix, Label, Severity
from mpslint.records import NamedTuple

Record = list[Any]
"""A finding as JSON can hold it."""


class Consulted(NamedTuple):
    """Another file that a result rests on, as it was then: time and size, (0, -1) for none."""

    path: str
    mtime_ns: int
    size: int


class FileResult(NamedTuple):
    path: str
    findings: tuple[Finding, ...] = ()
    error: str | None = None
    """Why the file could not be checked, with its place; one line."""
    warning: str | None = None
    """Why the file was left out, where that is no error."""
    consulted: tuple[Consulted, ...] = ()
    """Other files of the project that the findings rest on."""
    untold: tuple[Finding, ...] = ()
    """What is told to nobody, and decides on fixes all the same: those of other files as well."""
    is_whole: bool = True
    """Nobody need look for more of what is untold."""
    mended: tuple[int, ...] = ()
    """The rows of its text in which what may be float64 is cast before it is moved once fixes bring
    tensors to MPS."""

    @property
    def all_findings(self) -> tuple[Finding, ...]:
        return self.findings + self.untold if self.untold else self.findings


def to_record(finding: Finding, *, with_fix: bool) -> Record:
    """`finding` as plain data; its fix is built only `with_fix`."""
    level = finding.applicability
    fix = finding.fix if with_fix and level is not None else None
    return [
        finding.code,
        finding.name,
        finding.message,
        int(finding.severity),
        finding.row,
        finding.column,
        finding.end_row,
        finding.end_column,
        int(finding.confidence),
        [list(label) for label in finding.labels],
        None if level is None else int(level),
        None if fix is None else [fix.message, [list(e) for e in fix.edits], fix.applicability],
        finding.cell,
        finding.follows or (fix is not None and fix.follows),
        finding.reason,
        finding.unfixed if with_fix and fix is None else "",
        finding.provided,
        finding.advice,
    ]


def from_record(record: Record) -> Finding:
    """The finding of a record; raises `ValueError`, `TypeError` or `KeyError` for other data."""
    code, name, message, severity, row, column, end_row, end_column, *rest = record
    confidence, labels, level, fix, cell, follows, reason, unfixed, provided, advice = rest
    finding = Finding(
        code,
        name,
        message,
        Severity(severity),
        row,
        column,
        end_row,
        end_column,
        confidence=Confidence(confidence),
        labels=tuple(Label(*label) for label in labels),
        provided=provided,
        advice=advice,
        fix=None if fix is None else _fix(*fix)._replace(follows=follows),
        unfixed=(unfixed,),
    )
    finding.applicability = None if level is None else Applicability(level)
    finding.cell = cell
    finding.follows, finding.reason = follows, reason
    return finding


def detached(result: FileResult, *, with_fixes: bool) -> FileResult:
    """The same result without what its findings hold on to (tree, text) to build fixes later."""
    findings = tuple(from_record(to_record(f, with_fix=with_fixes)) for f in result.findings)
    untold = tuple(from_record(to_record(f, with_fix=False)) for f in result.untold)
    return result._replace(findings=findings, untold=untold)


def _fix(message: str, edits: list[list[Any]], level: int) -> Fix:
    return Fix(message, tuple(Edit(*edit) for edit in edits), Applicability(level))
