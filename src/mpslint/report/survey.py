"""Put together what a report says: findings, who settles them, causes, operators."""

from __future__ import annotations

import datetime
import os
from typing import TYPE_CHECKING

from mpslint import __version__
from mpslint.model import Finding
from mpslint.project.project import Project
from mpslint.report.broken import broken_imports
from mpslint.report.causes import causes_of
from mpslint.report.meaning import Meanings
from mpslint.report.model import PERSON, Issue, Place, Survey
from mpslint.report.operators import operators
from mpslint.report.remedies import Remedies, remedies
from mpslint.sources.opening import line_of
from mpslint.sources.screening import speaks_of_torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mpslint.findings.results import FileResult
    from mpslint.folders.discovery import Target
    from mpslint.settings.settings import Settings
    from mpslint.verify.report import Report
    from mpslint.verify.tracing import Trace


def survey(
    paths: Sequence[str],
    targets: Sequence[Target],
    results: Sequence[FileResult],
    *,
    verdicts: Sequence[Report] = (),
    traces: Sequence[Trace] = (),
) -> Survey:
    """A report of the findings `results` of the files `targets`, with what runs have shown.

    Nothing is run.
    """
    meanings = Meanings({target.path: target.settings for target in targets})
    projects: dict[Settings, Project] = {}
    issues: list[Issue] = []
    emerging = 0
    for result in results:
        if result.findings:
            settings = meanings.settings[result.path]
            if settings not in projects:
                projects[settings] = Project(settings)
            found = remedies(result, meanings.data(result.path), settings, projects[settings])
            issues += _issues(meanings, result, found)
            emerging += found.emerging
    shown = {os.path.abspath(path): path for path in meanings.settings}
    causes = causes_of(meanings, issues, shown)
    return Survey(
        title=_title(paths),
        paths=tuple(paths),
        version=__version__,
        made=_today(),
        files={path: speaks_of_torch(meanings.data(path)) for path in meanings.settings},
        issues=tuple(issues),
        causes=causes,
        ops=operators(meanings),
        emerging=emerging,
        unread=tuple(line for r in results for line in (r.error, r.warning) if line),
        verdicts=tuple(verdicts),
        traces=tuple(traces),
        broken=broken_imports(meanings),
    )


def _issues(meanings: Meanings, result: FileResult, found: Remedies) -> list[Issue]:
    source = meanings.source(result.path)
    issues = []
    for finding, remedy in zip(result.findings, found.by_finding, strict=True):
        text = line_of(source, finding.cell, finding.row) if source is not None else None
        place = Place(result.path, finding.row, (text or "").strip(), finding.cell)
        issues.append(Issue(finding, place, remedy, _fix_message(finding, remedy)))
    return issues


def _fix_message(finding: Finding, remedy: str) -> str:
    fix = finding.fix
    return fix.message if fix is not None and remedy != PERSON else ""


def _title(paths: Sequence[str]) -> str:
    """The project's name: that of the folder, or of the only file."""
    if len(paths) == 1:
        return os.path.basename(os.path.abspath(paths[0])) or paths[0]
    return os.path.basename(os.getcwd()) or "/"


def _today() -> str:
    """The day of the report; `SOURCE_DATE_EPOCH` sets it for builds that are to be repeatable."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    utc = datetime.timezone.utc
    if given.isdigit():
        return datetime.datetime.fromtimestamp(int(given), utc).date().isoformat()
    return datetime.datetime.now(utc).date().isoformat()
