"""Apply fixes to a file until nothing more can be fixed.

Each pass applies every fix whose edits do not collide with one already taken in that pass,
checks that the result still parses, and lints it again; at most `MAX_PASSES` times. On a
cycle, or when a pass breaks the file, nothing is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mpslint.edits import EditConflict, EditSet, origin, spliced
from mpslint.errors import BadSource
from mpslint.linter import lint
from mpslint.model import Applicability, Edit, Finding, Fix
from mpslint.opening import located, position
from mpslint.suppress import comments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mpslint.semantics.elsewhere import Elsewhere
    from mpslint.settings import Settings
    from mpslint.source import SourceFile

MAX_PASSES = 10


class Applied(NamedTuple):
    """One fix that landed; the row is that of the finding in the original file.

    What a later pass fixes inside code that a fix wrote has the row where that was written.
    """

    code: str
    name: str
    row: int
    message: str
    applicability: Applicability
    cell: int | None = None
    """In a notebook, the cell in which the row is counted."""


class FixResult(NamedTuple):
    source: SourceFile
    """The file as it became."""
    applied: tuple[Applied, ...]
    remaining: tuple[Finding, ...]
    """Findings of the final text."""
    passes: int
    error: str | None
    """Why nothing was changed although fixes were on offer; None when all went well."""
    misfits: tuple[str, ...] = ()
    """Fixes that were left out because they do not fit the text or themselves."""

    @property
    def text(self) -> str:
        return self.source.text


class _Comments:
    """The comments of a text, looked for only when an edit takes away a `#`."""

    def __init__(self, source: SourceFile) -> None:
        self._source = source
        self._places: list[tuple[int, str]] | None = None

    def lost(self, fix: Fix) -> bool:
        """Whether `fix` would take away a comment and not write it again."""
        suspects = [edit for edit in fix.edits if "#" in edit.expect]
        if not suspects:
            return False
        if self._places is None:
            self._places = [(c.offset, c.text) for c in comments(self._source)]
        return any(
            edit.start <= offset < edit.end and all(text not in other.text for other in fix.edits)
            for edit in suspects
            for offset, text in self._places
        )


def fix_source(
    source: SourceFile,
    settings: Settings,
    *,
    unsafe: bool = False,
    elsewhere: Elsewhere | None = None,
) -> FixResult:
    """Fix `source` to a fixed point. Raises `BadSource` when the file does not parse.

    `elsewhere` tells of names that the file imports from its project.
    """
    level = Applicability.UNSAFE if unsafe else Applicability.SAFE
    current = source
    applied: list[Applied] = []
    passes: list[tuple[Edit, ...]] = []
    seen = {source.text}
    findings = lint(current, settings, elsewhere=elsewhere)
    for number in range(1, MAX_PASSES + 1):
        edits, landed, misfits = _one_pass(current, findings, level, settings)
        if not edits or spliced(current.text, edits) == current.text:
            remaining = located(current, findings)
            return FixResult(current, tuple(applied), remaining, number, None, misfits)
        applied += [_applied(source, current, finding, fix, passes) for finding, fix in landed]
        try:
            current = current.with_edits(edits)
            findings = lint(current, settings, elsewhere=elsewhere)
            current.parse()
        except BadSource as error:
            return _refused(source, settings, number, f"a fix would break the file ({error})")
        if current.text in seen:
            return _refused(source, settings, number, "the fixes undo each other")
        seen.add(current.text)
        passes.append(edits)
    return _refused(source, settings, MAX_PASSES, f"no fixed point after {MAX_PASSES} passes")


def _one_pass(
    source: SourceFile, findings: list[Finding], level: Applicability, settings: Settings
) -> tuple[tuple[Edit, ...], list[tuple[Finding, Fix]], tuple[str, ...]]:
    """The edits of one pass, whose they are, and which fixes were left out."""
    edits, written = EditSet(source.text), _Comments(source)
    landed, misfits = [], []
    for finding in findings:
        if finding.applicability is None or finding.applicability < level:
            continue
        fix = finding.fix
        if fix is None:
            continue
        finding.applicability = _applicability(fix, written, settings)
        if finding.applicability < level:
            continue
        if not all(source.accepts(edit) for edit in fix.edits):
            finding.applicability = None
            continue
        try:
            if edits.add(fix):
                landed.append((finding, fix))
        except EditConflict as error:
            # A fault of that one fix; what it would have changed stays as it is.
            misfits.append(f"{finding.code} at {finding.place} does not fit ({error})")
    return edits.edits, landed, tuple(misfits)


def _applied(
    source: SourceFile,
    current: SourceFile,
    finding: Finding,
    fix: Fix,
    passes: Sequence[tuple[Edit, ...]],
) -> Applied:
    offset = current.starts[finding.row - 1] + finding.column - 1
    for edits in reversed(passes):
        offset = origin(offset, edits)
    cell, row, _ = position(source, offset)
    return Applied(finding.code, finding.name, row, fix.message, fix.applicability, cell)


def _applicability(fix: Fix, written: _Comments, settings: Settings) -> Applicability:
    """The fix's own level; unsafe at best when a comment would go, or where a project does
    without CUDA, so that no fix keeps the choices that a CUDA machine made."""
    if "cuda" not in settings.device_order or written.lost(fix):
        return min(fix.applicability, Applicability.UNSAFE)
    return fix.applicability


def _refused(source: SourceFile, settings: Settings, passes: int, why: str) -> FixResult:
    return FixResult(source, (), located(source, lint(source, settings)), passes, why)
