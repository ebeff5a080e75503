"""What can be done about the findings of one text, at the levels that `mpslint fix` gives them.

Worked out when somebody asks, once for a text: what `fix` leaves out of the safe ones, since
something speaks against the text that they make, is not offered as safe here either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from mpslint.checking.linter import lint
from mpslint.fixing.fixer import Fixing
from mpslint.fixing.offers import Offers
from mpslint.halfway.halves import settled_alone
from mpslint.model import Applicability, Severity, doubtful
from mpslint.porting.bringing import OPENING
from mpslint.porting.in_the_way import is_narrow
from mpslint.records import NamedTuple
from mpslint.running.reported import place_of
from mpslint.sources.opening import located

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mpslint.fixing.fixer import Hidden
    from mpslint.model import Finding, Fix
    from mpslint.porting.landed import Key
    from mpslint.project.project import Project
    from mpslint.server.documents import Snapshot
    from mpslint.settings.settings import Settings
    from mpslint.sources.source import SourceFile


Doubts: TypeAlias = "Mapping[Key, str]"
"""Findings whose fix is not safe, with the reason."""


class Offered(NamedTuple):
    """A finding with the fix that may be made for it."""

    finding: Finding
    fix: Fix | None
    at: int
    """The offset of the finding."""


class Fixes:
    """What can be done about the findings of one snapshot."""

    def __init__(
        self,
        snapshot: Snapshot,
        source: SourceFile,
        settings: Settings,
        offered: tuple[Offered, ...],
        fixing: Fixing,
    ) -> None:
        self.snapshot, self.source, self.settings = snapshot, source, settings
        self.offered = offered
        self._fixing = fixing
        self._alone: dict[int, Fix] = {}
        """By its place among `offered`: a fix as it may be made by itself."""

    @property
    def doubts(self) -> Doubts:
        """The findings whose fix is not safe for what the whole text would become."""
        return self._fixing.barred

    def by_itself(self, number: int) -> Fix | None:
        """The fix of a finding, at the level that it has when no other fix is made with it.

        What lets a Mac's GPU in may need another fix beside it: of a tensor in float64, say. Where
        a Mac raises today, one fix alone makes nothing worse.
        """
        finding, fix, at = self.offered[number]
        if fix is None or fix.applicability is not Applicability.SAFE:
            return fix
        if finding.severity is not Severity.IGNORES or not finding.code.startswith(OPENING):
            return fix
        if number not in self._alone:
            reason = self._fixing.against_alone(finding, fix, at)
            self._alone[number] = fix if reason is None else doubtful(fix, reason)
        return self._alone[number]


def fixes_of(
    snapshot: Snapshot,
    settings: Settings,
    hidden: Hidden,
    project: Project,
    pause: Callable[[], None],
) -> Fixes:
    """The findings of a snapshot that are not hidden, with their fixes. Raises `BadSource`."""
    source = snapshot.source()
    fixing = Fixing(source, settings, project, hidden, pause)
    if is_narrow(settings, snapshot.path):
        whole = Fixing(source, settings.with_all_told(), project, frozenset(), pause)
        settled_alone(whole, snapshot.path, project)
        fixing.leave(whole.barred)
    settled_alone(fixing, snapshot.path, project)
    offers = Offers(source, settings)
    offered = []
    for finding in lint(source, settings, elsewhere=project, pause=pause):
        place = place_of(finding, source)
        if place in hidden:
            continue
        fix = offers.of(finding)
        reason = fixing.barred.get(place)
        if fix is not None and reason is not None:
            fix = doubtful(fix, reason)
        offered.append(Offered(finding, fix, place[1]))
    located(source, [one.finding for one in offered])
    return Fixes(snapshot, source, settings, tuple(offered), fixing)
