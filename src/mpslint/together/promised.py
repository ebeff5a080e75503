"""What `check` promises of fixes that other files decide on: what `fix`, which makes the files of a
project together, would leave out.

Hardly anything is fixed to find that out. The findings that stay are known, and so are the fixes
that would be made; `half_ports.py` says of the code as it is what it would say of it later. Only a
file where a test without a fix of its own may go with what hangs on it is fixed in memory.
"""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING

from mpslint.basics import collector
from mpslint.errors import BadSource
from mpslint.fixing.blame import same_change
from mpslint.halfway.halves import halves
from mpslint.halfway.ported_files import Opened, Ported, left_in, unmended_in
from mpslint.halfway.program_files import ProgramFiles
from mpslint.model import Applicability, Severity
from mpslint.porting.bringing import DTYPES, brings, is_aid, narrows, ran, silences
from mpslint.porting.in_the_way import is_mended, keeps_out, raises_there_alone, weighs
from mpslint.sources.files import spoken_path
from mpslint.sources.opening import is_notebook, open_source, row_in_text, without_pictures
from mpslint.sources.reading import read_bytes
from mpslint.together.beside import Beside
from mpslint.together.withheld import Projects

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterable, Mapping, Sequence

    from mpslint.findings.results import FileResult
    from mpslint.folders.discovery import Target
    from mpslint.model import Finding
    from mpslint.project.project import Project
    from mpslint.settings.settings import Settings
    from mpslint.sources.source import SourceFile


def as_promised(
    results: Sequence[FileResult], targets: Iterable[Target], projects: Projects | None = None
) -> None:
    """Lets fixes be unsafe that are left out for the sake of another file; `projects`: those that
    are known already, and that others may ask later."""
    with collector.off():
        own = Projects()
        _as_promised(results, targets, own if projects is None else projects)
        for project in own.made:
            project.release()


def _as_promised(
    results: Sequence[FileResult], targets: Iterable[Target], projects: Projects
) -> None:
    of = {target.path: target.settings for target in targets}
    shared: dict[Settings, list[FileResult]] = {}
    for result in results:
        shared.setdefault(of[result.path], []).append(result)
    for settings, files in shared.items():
        if any(_is_opened(one) or _is_aid(one) for one in _all(files)):
            _doubt_beside_doubted(files, projects.of(settings))
    # Parts of a project with settings of their own are parts of one program all the same.
    if any(_is_opened(one) or _is_aid(one) for one in _all(results)):
        _doubt_half_ports(results, of, projects)


def _all(files: Iterable[FileResult]) -> Iterable[Finding]:
    return (finding for file in files for finding in file.all_findings)


def _is_opened(finding: Finding) -> bool:
    """Whether a fix will bring tensors to MPS."""
    return (
        finding.applicability is Applicability.SAFE
        and finding.severity >= Severity.IGNORES
        and brings(finding.code)
        and not finding.follows
    )


def _is_aid(finding: Finding) -> bool:
    """Whether a fix is worth something only where the rest of the program is fixed, too."""
    is_safe = finding.applicability is Applicability.SAFE
    if silences(finding.code):
        return is_safe
    return is_safe and not finding.follows and is_aid(finding.code, finding.severity)


def _doubt_beside_doubted(files: Sequence[FileResult], project: Project) -> None:
    """What imports a file, or is imported by one, goes along where that stays on the CPU."""
    reasons = {
        file.path: next(
            (one.reason for one in file.all_findings if one.reason and weighs(one)), None
        )
        for file in files
    }
    waiting = [path for path, reason in reasons.items() if reason]
    beside = Beside(reasons, project)
    while waiting:
        path = waiting.pop()
        for file in files:
            if file.path == path or not any(map(_goes_along, file.all_findings)):
                continue
            if beside.are(file.path, path):
                reason = f"{spoken_path(path)}, {reasons[path]}"
                for finding in filter(_goes_along, file.all_findings):
                    finding.doubt(reason)
                if not reasons[file.path]:
                    reasons[file.path] = reason
                    waiting.append(file.path)


def _goes_along(finding: Finding) -> bool:
    return (
        finding.applicability is Applicability.SAFE
        and finding.severity is Severity.IGNORES
        and not finding.follows
        and not narrows(finding.code)
    )


def _doubt_half_ports(
    files: Sequence[FileResult], of: Mapping[str, Settings], projects: Projects
) -> None:
    """`of` gives the settings of each file."""
    by_path = {os.path.abspath(file.path): file for file in files if not file.error}
    settings_of = {path: of[file.path] for path, file in by_path.items()}
    common = next(iter(settings_of.values()))

    def project_of(path: str) -> Project:
        return projects.of(settings_of.get(path, common))

    program = ProgramFiles(project_of, by_path)
    asked = {}
    for path, file in by_path.items():
        if file.all_findings or file.mended or b".cuda(" in program.text_of(path):
            try:
                fixed = Fixed(file, settings_of[path], project_of(path))
                asked[path] = _ported(path, file, fixed)
            except BadSource:  # changed since it was checked
                continue
    found = halves(asked, program, by_path)
    for path, doubts in found.items():
        findings = by_path[path].all_findings
        reasons = {number: one.reason for (_, number), one in doubts.items()}
        known = {number: one.reason for (_, number), one in doubts.items() if one.is_known}
        known.update(same_change(findings, known))
        for number, reason in (*reasons.items(), *same_change(findings, reasons)):
            findings[number].doubt(reason)
        for number, reason in known.items():
            findings[number].drop_fix(reason)


class Fixed:
    """A file as its safe fixes leave it, worked out when somebody asks."""

    def __init__(self, file: FileResult, settings: Settings, project: Project) -> None:
        self._file, self._settings, self._project = file, settings, project
        known = project.modules.text(os.path.abspath(file.path))
        if known is None:  # A notebook whose pictures are more than a project reads of others.
            known = without_pictures(file.path, read_bytes(file.path, settings.max_file_size))
        self._data = known

    def keeps(self, finding: Finding) -> bool:
        """Whether a finding without a fix is still told, of a line that reads the same."""
        return (finding.code, self._line(finding)) in self._left

    def row(self, finding: Finding) -> int:
        """The row in the text that is parsed, of a notebook all its cells."""
        return row_in_text(self._source, finding.cell, finding.row)

    @cached_property
    def tree(self) -> ast.Module | None:
        """Of a notebook, whose text nobody else parses."""
        try:
            return self._source.parse() if is_notebook(self._file.path) else None
        except BadSource:
            return None

    @cached_property
    def _source(self) -> SourceFile:
        return open_source(self._file.path, self._data)

    def _line(self, finding: Finding) -> str:
        return self._source.line(self.row(finding)).strip()

    @cached_property
    def _left(self) -> frozenset[tuple[str, str]]:
        from mpslint.fixing.fixing import plan

        planned = plan(
            self._file.path,
            self._data,
            self._settings.with_all_told(),
            unsafe=False,
            project=self._project,
        )
        if isinstance(planned, str):
            return frozenset((one.code, self._line(one)) for one in self._file.all_findings)
        made = planned.result
        return frozenset(
            (one.code, made.source.line(row_in_text(made.source, one.cell, one.row)).strip())
            for one in made.remaining
        )


def _ported(path: str, file: FileResult, fixed: Fixed) -> Ported:
    opened, left = [], []
    findings, told = file.all_findings, len(file.findings)
    # A test without a fix of its own is rewritten with what stands below it.
    asked = {
        (label.cell or one.cell, label.row)
        for one in findings
        if _is_opened(one)
        for label in one.labels
    }

    opens = any(map(_is_opened, findings))

    def stays(one: Finding) -> bool:
        if raises_there_alone(one):
            return True
        if (one.cell, one.row) in asked:
            return False
        return one.severity is not Severity.IGNORES or not opens or fixed.keeps(one)

    for number, one in enumerate(findings):
        if number >= told and is_mended(one) and raises_there_alone(one):
            left.append(unmended_in(path, one, fixed.row(one)))
        elif _is_opened(one) or _is_aid(one):
            opened.append(
                Opened(
                    (one.code, number),
                    fixed.row(one),
                    ran(one.code, one.severity),
                    not _is_aid(one),
                    silences(one.code),
                )
            )
        elif not keeps_out(one) or one.applicability is Applicability.SAFE:
            continue
        elif one.applicability is not None or stays(one):
            left.append(left_in(path, one, fixed.row(one)))

    def tree() -> ast.Module | None:
        return fixed.tree

    return Ported(tree, tree, opened, left, _mended(file, fixed))


def _mended(file: FileResult, fixed: Fixed) -> frozenset[int]:
    """The rows in which nothing comes to MPS in float64 any more."""
    cast = (one for one in file.findings if one.code in DTYPES and is_mended(one))
    return frozenset((*file.mended, *map(fixed.row, cast)))
