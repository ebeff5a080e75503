"""What `check` says of fixes in a project that holds MPS back: what `fix` would say.

Who checks one file does not read the whole project for it; here it is read, once, where a fix that
may bring something to MPS is about to be called safe.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpslint.model import Applicability
from mpslint.porting.bringing import brings, is_aid

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mpslint.checking.checking import Around
    from mpslint.findings.results import FileResult
    from mpslint.folders.discovery import Target
    from mpslint.model import Finding
    from mpslint.project.project import Project
    from mpslint.settings.settings import Settings


class Projects:
    """The project of each settings: made when it is first asked for, of what a check came to know.
    Files below one settings file share it."""

    def __init__(self, trees: int = 1) -> None:
        """`trees`: so many times as many are kept as a check needs."""
        self.around: Around = {}
        """What a check knows of the files around those that it checks."""
        self._trees = trees
        self._known: dict[Settings, Project] = {}

    def of(self, settings: Settings) -> Project:
        if settings not in self._known:
            self._known[settings] = self._made(settings)
        return self._known[settings]

    @property
    def made(self) -> list[Project]:
        return list(self._known.values())

    def release_around(self) -> None:
        """Lets go of what no project was made of."""
        for known in self.around.values():
            known.release()
        self.around.clear()

    def _made(self, settings: Settings) -> Project:
        from mpslint.project.neighbours import Neighbours
        from mpslint.project.project import Project

        project = Project(settings)
        others = next(iter(self._known.values()), None)
        if others is not None:
            project.modules.trees = others.modules.trees  # They hold under any settings.
        known = self.around.pop(settings, None)
        if isinstance(known, Neighbours):
            project.take_over(known, frozenset())
            known.release()
        project.modules.trees.keep(self._trees)
        return project


def as_fixed(
    results: Iterable[FileResult], targets: Iterable[Target], projects: Projects
) -> Iterator[FileResult]:
    """The results, with the levels of fixes as the project of each file has them."""
    of = {target.path: target.settings for target in targets}
    for result in results:
        if any(may_open(one) for one in result.findings):
            settings = of[result.path]
            yield _within_project(result, settings, projects.of(settings))
        else:
            yield result


def may_open(finding: Finding) -> bool:
    """Whether a safe fix may bring something to MPS."""
    return finding.applicability is Applicability.SAFE and brings(finding.code)


def may_be_left(finding: Finding) -> bool:
    """Whether a safe fix may be left out for what stays beside it."""
    is_safe = finding.applicability is Applicability.SAFE
    return may_open(finding) or (is_safe and is_aid(finding.code, finding.severity))


def _within_project(result: FileResult, settings: Settings, project: Project) -> FileResult:
    from mpslint.checking.linter import linted
    from mpslint.errors import BadSource
    from mpslint.sources.opening import located, open_source
    from mpslint.sources.reading import read_bytes

    if not project.holds_back(result.path):
        return result
    try:
        source = open_source(result.path, read_bytes(result.path, settings.max_file_size))
        found = linted(source, settings, elsewhere=project)
    except BadSource:  # changed since it was checked
        return result
    findings, untold = located(source, found.told), located(source, found.untold)
    for finding in (*findings, *untold):
        finding.confirm()
    return result._replace(findings=findings, untold=untold, is_whole=True)


def as_whole(
    results: Iterable[FileResult], targets: Iterable[Target], projects: Projects
) -> Iterator[FileResult]:
    """The results with all that is told to nobody and decides on fixes: looked for where rules are
    off, once there is a fix for which that counts."""
    of = {target.path: target.settings for target in targets}
    for result in results:
        if result.is_whole or result.error:
            yield result
        else:
            settings = of[result.path]
            yield _looked_through(result, settings, projects.of(settings))


def _looked_through(result: FileResult, settings: Settings, project: Project) -> FileResult:
    from mpslint.checking.linter import linted
    from mpslint.errors import BadSource
    from mpslint.sources.opening import located, open_source
    from mpslint.sources.reading import read_bytes

    try:
        source = open_source(result.path, read_bytes(result.path, settings.max_file_size))
        untold = located(source, linted(source, settings, elsewhere=project).untold)
    except BadSource:  # changed since it was checked
        return result
    for finding in untold:
        finding.confirm()
    return result._replace(untold=untold, is_whole=True)
