"""What follows from a survey: the answer, the rules, the hazards of memory and dtypes."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from mpslint.pages import count
from mpslint.records import NamedTuple
from mpslint.report.model import PERSON, REMEDIES, SAFE, SEVERITIES, UNSAFE
from mpslint.rules.registry import all_rules

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mpslint.report.model import Broken, Place, Survey
    from mpslint.rules.registry import Rule

_MOST_RUNS = 3
_DOES = {
    "breaks": "raises an error on a Mac",
    "ignores": "runs, but not on the Mac's GPU, or gives a wrong number",
    "slow": "runs there, and waits for the GPU or copies without need",
}
SETTLES = {
    SAFE: "`mpslint fix` settles it; on CUDA nothing changes",
    UNSAFE: "`mpslint fix --unsafe-fixes` settles it; devices or numbers on CUDA may change",
    PERSON: "a person has to decide what to write",
}
HAZARDS = {
    "Memory": (
        ("MPS203", "MPS217", "MPS608", "MPS701", "MPS702", "MPS703", "MPS704"),
        "A Mac's GPU shares its memory with everything else; limits and counters differ.",
    ),
    "Dtypes": (
        ("MPS401", "MPS402", "MPS403", "MPS404", "MPS405", "MPS408", "MPS411"),
        "MPS has neither float64 nor complex128, and float8 only in part.",
    ),
}


class RuleRow(NamedTuple):
    rule: Rule
    total: int
    files: int
    remedies: Mapping[str, int]


class Hazard(NamedTuple):
    name: str
    why: str
    rows: tuple[tuple[Rule, tuple[Place, ...]], ...]


def answer(survey: Survey) -> str:
    """A few sentences: can it run on a Mac?"""
    unread = len(survey.unread)
    more = f" {count(unread, 'file')} could not be checked." if unread else ""
    return _answer(survey) + more + _runs(survey)


_SAID = {"pass": "ran", "ran": "ran", "partial": "ran in part", "fail": "failed"}


def _runs(survey: Survey) -> str:
    """What the verdicts say that were handed over: a project that reads well may still fail."""
    said = [
        f"{os.path.basename(report.script)} {_SAID.get(report.verdict, 'could not be judged')} on "
        + ", ".join(
            run.name
            for run in report.runs
            if run.verdict == report.verdict or report.verdict == "partial"
        )
        for report in survey.verdicts
    ]
    shown, left = said[:_MOST_RUNS], len(said) - _MOST_RUNS
    if left > 0:
        shown.append(f"{left} more verdicts are below")
    return f" Run: {'; '.join(shown)}." if said else ""


def _answer(survey: Survey) -> str:
    provided = _provided(survey)
    breaks = survey.number(severity="breaks") - provided.total()
    ignores = survey.number(severity="ignores")
    slow = survey.number(severity="slow")
    if not survey.torch_files:
        return "No file here speaks of PyTorch, so there is nothing to say."
    ends = _ends(survey.broken)
    starts = f"Not as it stands: {ends}. Besides," if ends else "It starts, but"
    if breaks:
        more = "".join(f", and {n} more if {what}" for what, n in provided.items())
        before = f"{ends}; and " if ends else ""
        raising = _places(breaks, "raises", "raise")
        found = f"Not as it stands: {before}{raising} on a Mac{more}."
    elif provided:
        raising = " and ".join(
            f"{_places(n, 'raises', 'raise')} on a Mac if {what}" for what, n in provided.items()
        )
        keep = _places(ignores, "keeps", "keep")
        give = "gives" if ignores == 1 else "give"
        more = f"; {keep} work off its GPU or {give} a wrong number" if ignores else ""
        found = f"{starts} {raising}{more}."
    elif ignores:
        keep, give = _places(ignores, "keeps", "keep"), "gives" if ignores == 1 else "give"
        found = f"{starts} {keep} work off the Mac's GPU or {give} a wrong number."
    elif slow:
        make = _places(slow, "makes", "make")
        yes = starts if ends else "Yes, as far as reading tells;"
        found = f"{yes} {make} it slower than it has to be."
    elif ends:
        return f"Not as it stands: {ends}."
    else:
        return "Yes, as far as reading tells: nothing was found that keeps it from a Mac's GPU."
    return f"{found} {_prospect(survey)}"


def _ends(broken: Sequence[Broken]) -> str:
    """What ends the program on every machine, before anything is said of a Mac."""
    if not broken:
        return ""
    first, *more = broken
    if more:
        return (
            f"{len(broken)} files that others import do not parse ({first.path}, which "
            f"{first.importer} imports, is the first), so that no machine runs these"
        )
    return (
        f"{first.path} does not parse, so that no machine runs {first.importer}, which imports it"
    )


def _provided(survey: Survey) -> Counter[str]:
    """How many places raise only if something is so that no code says, by what that is."""
    return Counter(
        issue.finding.provided
        for issue in survey.issues
        if issue.severity == "breaks" and issue.finding.provided
    )


def does(survey: Survey) -> dict[str, str]:
    """What findings of each severity do on a Mac."""
    breaks, provided = survey.number(severity="breaks"), _provided(survey)
    only = "".join(
        f" if {what}" if n == breaks else f", {n} of them if {what}" for what, n in provided.items()
    )
    return {**_DOES, "breaks": _DOES["breaks"] + only}


def _places(number: int, one: str, many: str) -> str:
    return f"{count(number, 'place')} {one if number == 1 else many}"


def _prospect(survey: Survey) -> str:
    safe, unsafe = survey.number(remedy=SAFE), survey.number(remedy=UNSAFE)
    total, person = len(survey.issues), survey.number(remedy=PERSON)
    if safe == total:
        return f"Safe fixes settle {'it' if total == 1 else f'all {total} findings'}."
    parts = [f"{safe} of {count(total, 'finding')}"]
    said = f"Safe fixes settle {parts[0]}" if safe else "No safe fix is on offer"
    more = f", unsafe ones {unsafe}{' more' if safe else ''}" if unsafe else ""
    left = f"; {person} need{'s' * (person == 1)} a person" if person else ""
    return f"{said}{more}{left}."


def rule_rows(survey: Survey) -> tuple[RuleRow, ...]:
    """The rules that have findings, those with most to do for a person first."""
    known = {rule.code: rule for rule in all_rules()}
    remedies: dict[str, Counter[str]] = defaultdict(Counter)
    files: dict[str, set[str]] = defaultdict(set)
    for issue in survey.issues:
        remedies[issue.finding.code][issue.remedy] += 1
        files[issue.finding.code].add(issue.place.path)
    rows = [
        RuleRow(
            known[code],
            counts.total(),
            len(files[code]),
            {remedy: counts[remedy] for remedy in REMEDIES},
        )
        for code, counts in remedies.items()
        if code in known
    ]
    return tuple(sorted(rows, key=_most_first))


def _most_first(row: RuleRow) -> tuple[int, int, str]:
    return -row.total, -int(row.rule.severity), row.rule.code


def hazards(survey: Survey) -> tuple[Hazard, ...]:
    """Where memory and dtypes of a Mac's GPU need care; kinds without findings are told too."""
    known = {rule.code: rule for rule in all_rules()}
    places: dict[str, list[Place]] = defaultdict(list)
    for issue in survey.issues:
        places[issue.finding.code].append(issue.place)
    return tuple(
        Hazard(
            name,
            why,
            tuple((known[code], tuple(places[code])) for code in codes if places[code]),
        )
        for name, (codes, why) in HAZARDS.items()
    )


def by_severity_and_remedy(survey: Survey) -> dict[str, dict[str, int]]:
    """Counts for each severity of each remedy."""
    return {
        severity: {remedy: survey.number(severity=severity, remedy=remedy) for remedy in REMEDIES}
        for severity in SEVERITIES
    }
