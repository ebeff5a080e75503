"""Apply fixes to a file until nothing more can be fixed.

Each pass applies every fix whose edits do not collide with one already taken in that pass,
checks that the result still parses, and lints it again; at most `MAX_PASSES` times. On a
cycle, or when a pass breaks the file, nothing is written. What speaks against the result
(`judging.py`) bars the fixes that brought it about from being safe, and the rest is tried again.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mpslint.checking.linter import Linted, counts, linted
from mpslint.errors import BadSource
from mpslint.findings.tally import Place, Tally, tally
from mpslint.fixing.alike import Along
from mpslint.fixing.blame import Barred, blamed, doubted, same_change
from mpslint.fixing.looks import Looks
from mpslint.fixing.offers import Offers
from mpslint.fixing.shared_runs import SharedRuns
from mpslint.model import Applicability, Edit, Finding, Fix, doubtful
from mpslint.porting.bringing import is_aid, narrows, silences
from mpslint.porting.in_the_way import weighs
from mpslint.porting.judging import Before, Objection, Text, left_behind, objections
from mpslint.porting.landed import Applied, Key, is_opening, with_companions
from mpslint.records import NamedTuple
from mpslint.sources.edits import EditConflict, EditSet, first_origin, spliced
from mpslint.sources.opening import is_notebook, located, position

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Mapping, Sequence

    from mpslint.semantics.elsewhere.elsewhere import Elsewhere
    from mpslint.settings.settings import Settings
    from mpslint.sources.source import SourceFile

MAX_PASSES = 10
MAX_TRIALS = 6
"""So often are fixes left out, and the rest tried, before none is made."""
Hidden = frozenset[Key]
"""Findings that are none of a run's business."""


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
    tally: Tally = Tally()

    @property
    def text(self) -> str:
        return self.source.text


def fix_source(
    source: SourceFile,
    settings: Settings,
    *,
    unsafe: bool = False,
    elsewhere: Elsewhere | None = None,
    hidden: Hidden = frozenset(),
    pause: Callable[[], None] | None = None,
    doubts: Mapping[Key, str] | None = None,
) -> FixResult:
    """Fix `source` to a fixed point. Raises `BadSource` when the file does not parse.

    `elsewhere` tells of names that the file imports from its project; what is `hidden` is neither
    fixed nor said to remain, and fixes of which there are `doubts` are unsafe. `pause` is called
    now and then: what it raises ends what nobody waits for any more.
    """
    fixing = Fixing(source, settings, elsewhere, hidden, pause)
    fixing.leave(doubts or {})
    return fixing.result(fixing.settled(), elsewhere, unsafe=unsafe)


class Made(NamedTuple):
    """A text that fixes made, and how."""

    source: SourceFile
    applied: tuple[Applied, ...]
    findings: list[Finding]
    passes: tuple[tuple[Edit, ...], ...]
    number: int
    error: str | None = None
    misfits: tuple[str, ...] = ()
    untold: Sequence[Finding] = ()
    """What is told to nobody, and decides on fixes all the same."""

    def text(self, around: Elsewhere | None) -> Text:
        """What it became, among files as `around` knows them."""
        return Text(self.source, [*self.findings, *self.untold], around)


class Fixing:
    """One file, fixed as often as it takes to find fixes that nothing speaks against."""

    def __init__(
        self,
        source: SourceFile,
        settings: Settings,
        elsewhere: Elsewhere | None,
        hidden: Hidden,
        pause: Callable[[], None] | None = None,
    ) -> None:
        self.source = source
        self._settings = settings
        self.elsewhere = elsewhere
        self._hidden = hidden
        self._pause = pause
        self._looks = Looks(elsewhere)
        self.barred: Barred = {}
        self._withheld: Barred = {}
        self.for_port = False  # Another file brings tensors to MPS that come here.
        self._before: Before | None = None
        self._found: Counter[Place] | None = None
        self._last: tuple[Barred, Elsewhere | None, Made] | None = None
        self.runs = SharedRuns(source, settings)

    def under(self, settings: Settings, elsewhere: Elsewhere) -> Fixing:
        """The same file with what is known of its fixes, under settings that write them in another
        way."""
        other = Fixing(self.source, settings, elsewhere, self._hidden, self._pause)
        other.barred, other._before = dict(self.barred), self._before
        other._withheld = dict(self._withheld)
        other._found, other.for_port = self._found, self.for_port
        if self._before is not None:
            self._before.holds_under(self._settings, settings)
        return other

    def _linted(
        self,
        source: SourceFile,
        passes: Sequence[tuple[Edit, ...]],
        *,
        beside: bool = False,
        is_made: bool = False,
        for_port: bool = False,
    ) -> Linted:
        """The findings of a text; those that only a port asks for where they are `beside` one. One
        that fixes have `made` has to be Python. `for_port`: it will be asked for these as well."""
        around = self.elsewhere

        def look(beside: bool) -> Linted:
            settings = with_companions(self._settings, source.path) if beside else self._settings
            # In no variable: one tree at a time is enough of a large file.
            return linted(
                source,
                settings,
                self._tree(source) if is_made else None,
                elsewhere=around,
                pause=self._pause,
                sharing=self.runs.asked_for(source, around, is_before=self._before is None),
            )

        if for_port and not beside:
            found = self._looks.found_for_port(source, around, look, self._settings)
        else:
            found = self._looks.found(source, around, look, beside=beside)
        return _seen(found, source, passes, self._hidden)

    def _tree(self, source: SourceFile) -> ast.Module:
        return source.parse() if self.elsewhere is None else self.elsewhere.tree(source)

    def settled(self) -> Made:
        """All safe fixes that nothing speaks against; the others are `barred` then."""
        made = self.to_fixed_point()
        for _ in range(MAX_TRIALS):
            against = self.judged(made, self.elsewhere)
            if not against:
                break
            self.bar(made, against)
            made = self.to_fixed_point()
        return made

    def against_alone(self, finding: Finding, fix: Fix, at: int) -> str | None:
        """What speaks against one safe fix, of what stands `at` an offset, without the others."""
        offered = Offered(self.source, (), {}, {})
        edits = tuple(sorted(fix.edits))
        try:
            after = self.source.with_edits(edits)
            found = self._linted(after, (edits,))
        except BadSource as error:
            return f"it would break the file ({error})"
        applied = (_applied(self.source, offered, finding, fix, at),)
        made = Made(after, applied, found.told, (edits,), 1, untold=found.untold)
        against = self.judged(made, self.elsewhere)
        return against[0].reason if against else None

    def unfixed(self, findings: Sequence[Finding], untold: Sequence[Finding]) -> Made:
        """The text as it is, and what was found in it; of a notebook it is found out anew, in rows
        of its text."""
        if is_notebook(self.source.path):
            findings, untold = self._linted(self.source, ()).both
        return Made(self.source, (), list(findings), (), 0, untold=untold)

    def to_fixed_point(self, level: Applicability = Applicability.SAFE) -> Made:
        """All fixes of this level and above, or none; those that are `barred` are not safe.
        Raises `BadSource`."""
        current = self.source
        applied: list[Applied] = []
        passes: list[tuple[Edit, ...]] = []
        seen = {current.text}
        beside, along = self.for_port, Along()
        known = self._linted(current, (), beside=beside)
        findings, untold = known.both
        if self._found is None:
            self._found = Counter(self._places(findings, current, passes))
        for number in range(1, MAX_PASSES + 1):
            offered = Offered(current, passes, self.barred, self._withheld)
            also = along.of(known, current)
            edits, landed, misfits = _one_pass(offered, [*findings, *also], level, self._settings)
            if not edits or spliced(current.text, edits) == current.text:
                if not beside and any(map(is_opening, applied)):
                    known, beside = self._linted(current, passes, beside=True), True
                    findings, untold = known.both
                    continue
                if not self._hidden and along.begins(known, current):
                    continue
                left = [one for one in findings if counts(one, self._settings)]
                return Made(
                    current, tuple(applied), left, tuple(passes), number, None, misfits, untold
                )
            if self._before is None:
                bare = [finding.without_fix() for finding in (*findings, *untold)]
                self._before = Before(Text(current, bare, self.elsewhere))
                self.runs.tell(self._before, self.elsewhere)
            applied += [
                _applied(self.source, offered, found, fix, offered.key(found)[1])
                for found, fix in landed
            ]
            along.saw(landed, current)
            try:
                current = current.with_edits(edits)
                passes.append(edits)
                for_port = any(map(is_opening, applied))
                known = self._linted(
                    current, passes, beside=beside, is_made=True, for_port=for_port
                )
                findings, untold = known.both
            except BadSource as error:
                return self._refused(number, f"a fix would break the file ({error})")
            if current.text in seen:
                return self._refused(number, "the fixes undo each other")
            seen.add(current.text)
        return self._refused(MAX_PASSES, f"no fixed point after {MAX_PASSES} passes")

    def to_last_point(self) -> Made:
        """All fixes, safe or not; made again only where another is barred, or the files around are
        others, since it was asked last."""
        known = self._last
        if known is None or known[0] != self.barred or known[1] is not self.elsewhere:
            made = self.to_fixed_point(Applicability.UNSAFE)
            known = self._last = dict(self.barred), self.elsewhere, made
        return known[2]

    def following(
        self, made: Made, around: Elsewhere | None, *, unsafe: bool = False
    ) -> Made | None:
        """What becomes of it among files as `around` knows them; None: no more is on offer."""
        known, self.elsewhere = self.elsewhere, around
        level = Applicability.UNSAFE if unsafe else Applicability.SAFE
        beside = self.for_port or any(map(is_opening, made.applied))
        found = self._linted(made.source, made.passes, beside=beside)
        offered = Offered(made.source, made.passes, self.barred, self._withheld)
        before = {
            offered.key(one)
            for one in made.findings
            if one.applicability is not None and one.applicability >= level
        }
        new = [
            one
            for one in found.told
            if one.applicability is not None and one.applicability >= level
            if offered.key(one) not in {*before, *self.barred}
        ]
        after = self.to_fixed_point() if new else made
        is_other = after.applied != made.applied
        if is_other or any(one.applicability is Applicability.UNSAFE for one in new):
            return after
        self.elsewhere = known
        return None

    def judged(
        self, made: Made, around: Elsewhere | None, *, together: bool = False, again: bool = False
    ) -> list[Objection]:
        """What speaks against a text that fixes made, among files as `around` knows them; where it
        is one of several fixed `together` also where it is the same as before, and where it is
        looked at `again` its run is kept for that."""
        if not (made.applied or together):
            return []
        after, before = made.text(around), self._as_it_was(made)
        before.recalled(self._settings)  # One analysis is taken apart before the next is made.
        now = after.context(self._settings)
        found = objections(before, after, made.passes, self._settings, now)
        if any(map(is_opening, made.applied)):
            found += [
                one
                for one in left_behind(after, made.passes, self._settings, self.source, now)
                if any(is_opening(fix, is_far=one.is_far) for fix in made.applied)
            ]
        self.runs.done(now, is_kept=again)
        return found

    def said_before(self, made: Made) -> None:
        """Finds out what the analysis says of the text as it was."""
        self._as_it_was(made).said(self._settings)

    def _as_it_was(self, made: Made) -> Before:
        if self._before is None:
            # Where nothing was fixed, what is found is known.
            found = [*made.findings, *made.untold]
            if made.applied:
                told, untold = self._linted(self.source, ()).both
                found = [*told, *untold]
            bare = [finding.without_fix() for finding in found]
            self._before = Before(Text(self.source, bare, self.elsewhere))
        return self._before

    def opens(self, made: Made) -> bool:
        """Whether tensors come to MPS that were on a Mac's CPU."""
        return any(is_opening(one, is_far=True) for one in made.applied)

    def opened(self, made: Made) -> list[Applied]:
        """The fixes that bring tensors to MPS, and those that are worth something only beside such
        fixes, or where nothing else ends the program."""
        aids = (
            one
            for one in made.applied
            if silences(one.code) or (is_aid(one.code, one.severity) and not one.follows)
        )
        return [*filter(is_opening, made.applied), *aids]

    def bar(self, made: Made, against: Sequence[Objection]) -> bool:
        """Lets what the objections are about be unsafe; False where nothing is left to bar."""
        found = blamed(made.applied, against, self.barred)
        self.barred.update(found)
        return bool(found)

    def leave(self, doubts: Mapping[Key, str]) -> None:
        """Lets these be unsafe."""
        self.barred.update(doubts)

    def withhold(self, known: Mapping[Key, str]) -> None:
        """Offers none of these at any level."""
        self._withheld.update(known)
        self._last = None if known else self._last

    def result(self, made: Made, around: Elsewhere | None, *, unsafe: bool) -> FixResult:
        """What is left in the end; with `unsafe` also the fixes that something speaks against."""
        if unsafe:
            made = self.to_last_point()
            doubts = blamed(made.applied, self.judged(made, around), self.barred)
            made = made._replace(applied=tuple(doubted(one, doubts) for one in made.applied))
        return FixResult(
            made.source,
            made.applied,
            located(made.source, made.findings),
            made.number,
            made.error,
            made.misfits,
            self._tally(made),
        )

    def _tally(self, made: Made) -> Tally:
        fixed = [(one.code, self.source.position(one.at)[0]) for one in made.applied]
        left = self._places(made.findings, made.source, made.passes)
        return tally(self._found or Counter(), fixed, left)

    def _places(
        self,
        findings: Sequence[Finding],
        current: SourceFile,
        passes: Sequence[tuple[Edit, ...]],
    ) -> list[Place]:
        """The findings that count by where they are in the text as it was."""
        return [
            (one.code, self.source.position(_offset_before(one, current, passes))[0])
            for one in findings
            if counts(one, self._settings)
        ]

    def _refused(self, number: int, why: str) -> Made:
        told, untold = linted(self.source, self._settings).both
        return Made(self.source, (), told, (), number, why, untold=untold)


class Offered(NamedTuple):
    """A text on its way to the fixed point."""

    source: SourceFile
    passes: Sequence[tuple[Edit, ...]]
    barred: Barred
    withheld: Barred

    def key(self, finding: Finding) -> Key:
        return finding.code, _offset_before(finding, self.source, self.passes)

    def spread(self, findings: Sequence[Finding]) -> None:
        """Lets fixes be unsafe, or none, that make the change of one that is."""
        keys = [self.key(one) for one in findings] if self.barred else []
        for told in (self.withheld, self.barred):
            known = {at: told[key] for at, key in enumerate(keys) if key in told}
            told.update((keys[at], why) for at, why in same_change(findings, known))

    def lowered(self, finding: Finding, fix: Fix) -> Fix:
        """The fix, unsafe where something speaks against it, and saying so."""
        reason = self.barred.get(self.key(finding))
        return doubtful(fix, reason) if reason is not None else fix


def _one_pass(
    offered: Offered, findings: list[Finding], level: Applicability, settings: Settings
) -> tuple[tuple[Edit, ...], list[tuple[Finding, Fix]], tuple[str, ...]]:
    """The edits of one pass, whose they are, and which fixes were left out."""
    source = offered.source
    edits, offers = EditSet(source.text), Offers(source, settings)
    landed: list[tuple[Finding, Fix]] = []
    waiting: list[tuple[Finding, Fix]] = []
    misfits: list[str] = []

    def take(finding: Finding, fix: Fix) -> None:
        try:
            if edits.add(fix):
                landed.append((finding, fix))
        except EditConflict as error:
            # A fault of that one fix; what it would have changed stays as it is.
            misfits.append(f"{finding.code} at {finding.place} does not fit ({error})")

    offered.spread(findings)
    for finding in findings:
        if offered.withheld and (why := offered.withheld.get(offered.key(finding))):
            finding.drop_fix(why)
        if finding.applicability is None or finding.applicability < level:
            continue
        fix = offers.of(finding)
        if fix is not None:
            finding.reason = offered.barred.get(offered.key(finding), finding.reason)
            fix = offered.lowered(finding, fix)
        finding.offer(fix)
        if fix is None or fix.applicability < level:
            continue
        if fix.waits:
            waiting.append((finding, fix))
        else:
            take(finding, fix)
    for finding, fix in () if landed else waiting:
        take(finding, fix)
    return edits.edits, landed, tuple(misfits)


def _seen(
    found: Linted,
    current: SourceFile,
    passes: Sequence[tuple[Edit, ...]],
    hidden: Hidden,
) -> Linted:
    """The findings, those that are hidden among the untold; those of a text that was edited are
    known by their places in the text as it was."""
    if not hidden:
        return found
    told, untold = [], list(found.untold)
    for one in found.told:
        if (one.code, _offset_before(one, current, passes)) not in hidden:
            told.append(one)
        elif weighs(one):
            untold.append(one)
    return Linted(told, untold)


def _offset_before(
    finding: Finding, current: SourceFile, passes: Sequence[tuple[Edit, ...]]
) -> int:
    return first_origin(current.starts[finding.row - 1] + finding.column - 1, passes)


def _applied(source: SourceFile, offered: Offered, finding: Finding, fix: Fix, at: int) -> Applied:
    cell, row, _ = position(source, at)
    passes = offered.passes
    spans = tuple((first_origin(e.start, passes), first_origin(e.end, passes)) for e in fix.edits)
    follows = fix.follows or (narrows(finding.code))
    named = finding.code, finding.name, row, fix.message, fix.applicability
    return Applied(*named, cell, at, spans, finding.severity, follows)
