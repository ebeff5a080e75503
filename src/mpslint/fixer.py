"""Apply fixes to a file until nothing more can be fixed.

Each pass applies every fix whose edits do not collide with one already taken in that pass,
checks that the result still parses, and lints it again; at most `MAX_PASSES` times. On a
cycle, or when a pass breaks the file, nothing is written.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import TYPE_CHECKING, NamedTuple

from mpslint.errors import BadSource
from mpslint.linter import lint
from mpslint.model import Applicability, Edit, Finding, Fix

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
    """An edit does not find the text it expects."""


class EditSet:
    """Edits that can be applied together: none overlaps, identical ones count once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._edits: list[Edit] = []

    def __bool__(self) -> bool:
        return bool(self._edits)

    def add(self, fix: Fix) -> bool:
        """Take all edits of `fix`, or none. Raises `EditConflict` for a wrong `expect`."""
        fresh = [edit for edit in dict.fromkeys(fix.edits) if edit not in self._edits]
        for edit in fresh:
            if self._text[edit.start : edit.end] != edit.expect:
                raise EditConflict(
                    f"expected {edit.expect!r}, found {self._text[edit.start : edit.end]!r}"
                )
        if any(self._collides(edit) for edit in fresh):
            return False
        for edit in fresh:
            insort(self._edits, edit)
        return True

    def _collides(self, edit: Edit) -> bool:
        at = bisect_left(self._edits, (edit.start,))
        for other in self._edits[max(at - 1, 0) : at + 2]:
            same_place = edit.start == other.start and edit.end == other.end == edit.start
            if same_place or (edit.start < other.end and other.start < edit.end):
                return True
            insertion_inside = edit.start == edit.end and other.start < edit.start < other.end
            if insertion_inside:
                return True
        return False

    def apply(self) -> str:
        out, at = [], 0
        for edit in self._edits:
            out += [self._text[at : edit.start], edit.text]
            at = edit.end
        return "".join([*out, self._text[at:]])


def fix_source(source: SourceFile, settings: Settings, *, unsafe: bool = False) -> FixResult:
    """Fix `source` to a fixed point. Raises `BadSource` when the file does not parse."""
    level = Applicability.UNSAFE if unsafe else Applicability.SAFE
    current = source
    applied: list[Applied] = []
    seen = {source.text}
    findings = lint(current, settings)
    for number in range(1, MAX_PASSES + 1):
        text, landed = _one_pass(current, findings, level)
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
    edits, landed = EditSet(source.text), []
    for finding in findings:
        if finding.applicability is None or finding.applicability < level:
            continue
        fix = finding.fix
        if fix is None or fix.applicability < level:
            continue
        if edits.add(fix):
            landed.append(
                Applied(finding.code, finding.name, finding.row, fix.message, fix.applicability)
            )
    return edits.apply(), landed


def _refused(source: SourceFile, settings: Settings, passes: int, why: str) -> FixResult:
    return FixResult(source.text, (), tuple(lint(source, settings)), passes, why)
