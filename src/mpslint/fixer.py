"""Apply fixes to a file until nothing more can be fixed.

Each pass applies every fix whose edits do not collide with one already taken in that pass,
checks that the result still parses, and lints it again; at most `MAX_PASSES` times. On a
cycle, or when a pass breaks the file, nothing is written.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from mpslint.errors import BadSource
from mpslint.linter import lint
from mpslint.model import Applicability, Edit, Finding, Fix
from mpslint.suppress import comments

if TYPE_CHECKING:
    from mpslint.settings import Settings
    from mpslint.source import SourceFile

MAX_PASSES = 10


class Applied(NamedTuple):
    """One fix that landed; the position is that of the finding in the text of its pass."""

    code: str
    name: str
    row: int
    message: str
    applicability: Applicability


class FixResult(NamedTuple):
    text: str
    applied: tuple[Applied, ...]
    remaining: tuple[Finding, ...]
    """Findings of the final text."""
    passes: int
    error: str | None
    """Why nothing was changed although fixes were on offer; None when all went well."""


class EditConflict(Exception):
    """An edit that does not fit the text, or the other edits of its own fix."""


class EditSet:
    """Edits that can be applied together: none overlaps, identical ones count once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._edits: list[Edit] = []
        self._known: set[Edit] = set()

    def __bool__(self) -> bool:
        return bool(self._edits)

    def add(self, fix: Fix) -> bool:
        """Take all edits of `fix`, or none when one collides with an edit of another fix.

        Raises `EditConflict` for a fix that is wrong in itself.
        """
        _check(fix.edits, self._text)
        fresh = [edit for edit in dict.fromkeys(fix.edits) if edit not in self._known]
        if any(self._collides(edit) for edit in fresh):
            return False
        for edit in fresh:
            insort(self._edits, edit)
        self._known.update(fresh)
        return True

    def _collides(self, edit: Edit) -> bool:
        # No two taken edits overlap, so only the neighbours can be in the way.
        at = bisect_left(self._edits, (edit.start,))
        return any(_overlap(edit, other) for other in self._edits[max(at - 1, 0) : at + 2])

    def apply(self) -> str:
        out, at = [], 0
        for edit in self._edits:
            out += [self._text[at : edit.start], edit.text]
            at = edit.end
        return "".join([*out, self._text[at:]])


def _overlap(one: Edit, two: Edit) -> bool:
    """Whether two different edits contradict each other.

    Insertions contradict at the same place (their order would be chance) and inside a
    replacement; at its ends they do not.
    """
    if one.start == one.end and two.start == two.end:
        return one.start == two.start
    return one.start < two.end and two.start < one.end


def _check(edits: tuple[Edit, ...], text: str) -> None:
    for edit in edits:
        if not 0 <= edit.start <= edit.end <= len(text):
            raise EditConflict(f"no such place: {edit.start} to {edit.end}")
        if text[edit.start : edit.end] != edit.expect:
            raise EditConflict(f"expected {edit.expect!r}, found {text[edit.start : edit.end]!r}")
    for one, two in pairwise(sorted(set(edits))):
        if _overlap(one, two):
            raise EditConflict(f"two edits at {two.start}")


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


def fix_source(source: SourceFile, settings: Settings, *, unsafe: bool = False) -> FixResult:
    """Fix `source` to a fixed point. Raises `BadSource` when the file does not parse."""
    level = Applicability.UNSAFE if unsafe else Applicability.SAFE
    current = source
    applied: list[Applied] = []
    seen = {source.text}
    findings = lint(current, settings)
    for number in range(1, MAX_PASSES + 1):
        try:
            text, landed = _one_pass(current, findings, level)
        except EditConflict as error:
            return _refused(source, settings, number, f"a fix does not fit the text ({error})")
        if text == current.text:
            return FixResult(text, tuple(applied), tuple(findings), number, None)
        if text in seen:
            return _refused(source, settings, number, "the fixes undo each other")
        try:
            current = current.with_text(text)
            findings = lint(current, settings)
            current.parse()
        except BadSource as error:
            return _refused(source, settings, number, f"a fix would break the file ({error})")
        seen.add(text)
        applied += landed
    return _refused(source, settings, MAX_PASSES, f"no fixed point after {MAX_PASSES} passes")


def _one_pass(
    source: SourceFile, findings: list[Finding], level: Applicability
) -> tuple[str, list[Applied]]:
    edits, written = EditSet(source.text), _Comments(source)
    landed = []
    for finding in findings:
        if finding.applicability is None or finding.applicability < level:
            continue
        fix = finding.fix
        if fix is None or _applicability(fix, written) < level:
            continue
        if edits.add(fix):
            landed.append(
                Applied(finding.code, finding.name, finding.row, fix.message, fix.applicability)
            )
    return edits.apply(), landed


def _applicability(fix: Fix, written: _Comments) -> Applicability:
    """The fix's own level, but unsafe at best when a comment would go."""
    return min(fix.applicability, Applicability.UNSAFE) if written.lost(fix) else fix.applicability


def _refused(source: SourceFile, settings: Settings, passes: int, why: str) -> FixResult:
    return FixResult(source.text, (), tuple(lint(source, settings)), passes, why)
