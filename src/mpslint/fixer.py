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
from mpslint.rules.registry import UNUSED
from mpslint.suppress import comments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mpslint.semantics.elsewhere import Elsewhere
    from mpslint.settings import Settings
    from mpslint.source import SourceFile

MAX_PASSES = 10
Hidden = frozenset[tuple[str, int]]
"""Findings that are none of a run's business: code, and offset in the text as it was."""


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


class Offers:
    """Which fixes may be made in a text, and at what level."""

    def __init__(self, source: SourceFile, settings: Settings) -> None:
        self._source = source
        self._settings = settings
        self._written = _Comments(source)

    def of(self, finding: Finding) -> Fix | None:
        """The fix of a finding of this text at the level that holds here; None for no fix.

        Unsafe at best when a comment would go that is not the finding itself, or where a project
        does without CUDA, so that no fix keeps the choices that a CUDA machine made.
        """
        fix = finding.fix
        if fix is None or not all(self._source.accepts(edit) for edit in fix.edits):
            return None
        if finding.code == UNUSED:
            return fix
        if "cuda" not in self._settings.device_order or self._written.lost(fix):
            level = min(fix.applicability, Applicability.UNSAFE)
            return fix._replace(applicability=level)
        return fix


def fix_source(
    source: SourceFile,
    settings: Settings,
    *,
    unsafe: bool = False,
    elsewhere: Elsewhere | None = None,
    hidden: Hidden = frozenset(),
) -> FixResult:
    """Fix `source` to a fixed point. Raises `BadSource` when the file does not parse.

    `elsewhere` tells of names that the file imports from its project; what is `hidden` is neither
    fixed nor said to remain.
    """
    level = Applicability.UNSAFE if unsafe else Applicability.SAFE
    current = source
    applied: list[Applied] = []
    passes: list[tuple[Edit, ...]] = []
    seen = {source.text}
    findings = _seen(lint(current, settings, elsewhere=elsewhere), current, passes, hidden)
    for number in range(1, MAX_PASSES + 1):
        edits, landed, misfits = _one_pass(current, findings, level, settings)
        if not edits or spliced(current.text, edits) == current.text:
            remaining = located(current, findings)
            return FixResult(current, tuple(applied), remaining, number, None, misfits)
        applied += [_applied(source, current, finding, fix, passes) for finding, fix in landed]
        try:
            current = current.with_edits(edits)
            linted = lint(current, settings, elsewhere=elsewhere)
            current.parse()
        except BadSource as error:
            return _refused(source, settings, number, f"a fix would break the file ({error})")
        if current.text in seen:
            return _refused(source, settings, number, "the fixes undo each other")
        seen.add(current.text)
        passes.append(edits)
        findings = _seen(linted, current, passes, hidden)
    return _refused(source, settings, MAX_PASSES, f"no fixed point after {MAX_PASSES} passes")


def _one_pass(
    source: SourceFile, findings: list[Finding], level: Applicability, settings: Settings
) -> tuple[tuple[Edit, ...], list[tuple[Finding, Fix]], tuple[str, ...]]:
    """The edits of one pass, whose they are, and which fixes were left out."""
    edits, offers = EditSet(source.text), Offers(source, settings)
    landed, misfits = [], []
    for finding in findings:
        if finding.applicability is None or finding.applicability < level:
            continue
        fix = offers.of(finding)
        finding.applicability = fix.applicability if fix is not None else None
        if fix is None or fix.applicability < level:
            continue
        try:
            if edits.add(fix):
                landed.append((finding, fix))
        except EditConflict as error:
            # A fault of that one fix; what it would have changed stays as it is.
            misfits.append(f"{finding.code} at {finding.place} does not fit ({error})")
    return edits.edits, landed, tuple(misfits)


def _seen(
    findings: list[Finding],
    current: SourceFile,
    passes: Sequence[tuple[Edit, ...]],
    hidden: Hidden,
) -> list[Finding]:
    """The findings that are not hidden; those of a text that was edited are known by their places
    in the text as it was."""
    if not hidden:
        return findings
    return [f for f in findings if (f.code, _offset_before(f, current, passes)) not in hidden]


def _offset_before(
    finding: Finding, current: SourceFile, passes: Sequence[tuple[Edit, ...]]
) -> int:
    offset = current.starts[finding.row - 1] + finding.column - 1
    for edits in reversed(passes):
        offset = origin(offset, edits)
    return offset


def _applied(
    source: SourceFile,
    current: SourceFile,
    finding: Finding,
    fix: Fix,
    passes: Sequence[tuple[Edit, ...]],
) -> Applied:
    cell, row, _ = position(source, _offset_before(finding, current, passes))
    return Applied(finding.code, finding.name, row, fix.message, fix.applicability, cell)


def _refused(source: SourceFile, settings: Settings, passes: int, why: str) -> FixResult:
    return FixResult(source, (), located(source, lint(source, settings)), passes, why)
