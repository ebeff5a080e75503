"""What `check` says of fixes in a project that holds MPS back: what `fix` would say.

Who checks one file does not read the whole project for it; here it is read, once, where a fix that
may bring something to MPS is about to be called safe.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpslint.model import Applicability

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mpslint.discovery import Target
    from mpslint.model import Finding
    from mpslint.project import Project
    from mpslint.results import FileResult
    from mpslint.settings import Settings


def as_fixed(results: Iterable[FileResult], targets: Iterable[Target]) -> Iterator[FileResult]:
    """The results, with the levels of fixes as the project of each file has them."""
    known: dict[Settings, Project] = {}
    of = {target.path: target.settings for target in targets}
    for result in results:
        if any(may_open(one) for one in result.findings):
            yield _within_project(result, of[result.path], known)
        else:
            yield result


def may_open(finding: Finding) -> bool:
    """Whether a safe fix may bring something to MPS."""
    from mpslint.left_behind import brings

    return finding.applicability is Applicability.SAFE and brings(finding.code)


def may_be_left(finding: Finding) -> bool:
    """Whether a safe fix may be left out for what stays beside it."""
    from mpslint.left_behind import is_aid

    is_safe = finding.applicability is Applicability.SAFE
    return may_open(finding) or (is_safe and is_aid(finding.code, finding.severity))


def _within_project(
    result: FileResult, settings: Settings, known: dict[Settings, Project]
) -> FileResult:
    from mpslint.errors import BadSource
    from mpslint.linter import lint
    from mpslint.opening import located, open_source
    from mpslint.project import Project
    from mpslint.reading import read_bytes

    project = known.get(settings)
    if project is None:
        project = known[settings] = Project(settings)
    if not project.holds_back(result.path):
        return result
    try:
        source = open_source(result.path, read_bytes(result.path, settings.max_file_size))
        found = located(source, lint(source, settings, elsewhere=project))
    except BadSource:  # changed since it was checked
        return result
    for finding in found:
        finding.confirm()
    return result._replace(findings=found)
