"""Which fixes objections to their result are about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpslint.model import Applicability, Severity
from mpslint.porting.landed import Applied, Key, is_opening

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mpslint.model import Finding
    from mpslint.porting.judging import Objection

Barred = dict[Key, str]
"""Findings whose fix is not safe, with the reason."""


def blamed(
    applied: Sequence[Applied], against: Sequence[Objection], barred: Barred
) -> dict[Key, str]:
    """The fixes that objections are about: those that wrote what decides; or let MPS in; or all."""
    found: dict[Key, str] = {}
    for objection in against:
        mine = [one for one in applied if one.wrote_any(objection.causes)]
        if objection.is_opening:
            mine = [one for one in applied if is_opening(one, is_far=objection.is_far)]
        elif objection.is_far:
            mine = [o for o in applied if o.severity is Severity.IGNORES and not o.follows]
        elif not mine:
            mine = [o for o in applied if o.severity >= Severity.IGNORES and not o.follows]
            mine = mine or list(applied)
        found.update((one.key, objection.reason) for one in mine if one.key not in barred)
    if not found and against and not all(objection.is_far for objection in against):
        found = {one.key: against[0].reason for one in applied}
    return found


def doubted(one: Applied, doubts: dict[Key, str]) -> Applied:
    """A fix that landed, unsafe where something speaks against it, and saying so."""
    reason = doubts.get(one.key)
    if reason is None or reason in one.message:
        return one
    return one._replace(message=f"{one.message} ({reason})", applicability=Applicability.UNSAFE)


def same_change(
    findings: Sequence[Finding], reasons: Mapping[int, str]
) -> Iterator[tuple[int, str]]:
    """The findings, by their numbers, whose fix makes all that another one makes which is not safe,
    for the reason that stands in `reasons`: several findings may have one change, and who makes it
    for the one makes it for all."""
    changes = [
        (set(fix.edits), reason)
        for number, reason in reasons.items()
        if (fix := findings[number].fix) is not None and fix.edits
    ]
    for number, one in enumerate(findings):
        if not changes or number in reasons or one.applicability is not Applicability.SAFE:
            continue
        edits = set(one.fix.edits) if one.fix is not None else set()
        told = next((reason for change, reason in changes if change <= edits), None)
        if told is not None:
            yield number, told
