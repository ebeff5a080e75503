"""What a check says nothing of because of a row of the priors: found by leaving the row out.

A file is looked at again without the rows that decided something at the first look, in it or in
a file of its project that it rests on: without all of them, then without half of those without
which the findings are others, and so on to single ones. Most files rest on dozens of rows, none of
which holds anything back there: two looks say so. A row is named for what it alone holds back; what
two rows hold back, each by itself, neither is named for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.checking.linter import lint
from mpslint.facts import priors
from mpslint.project.neighbours import Neighbours
from mpslint.records import NamedTuple

if TYPE_CHECKING:
    from mpslint.facts.priors import Prior
    from mpslint.model import Finding
    from mpslint.semantics.elsewhere.elsewhere import ForCuda
    from mpslint.settings.settings import Settings
    from mpslint.sources.source import SourceFile


class HeldBack(NamedTuple):
    """A finding that is not there, and the row without which it would be."""

    finding: Finding
    row: Prior
    why: str = ""
    """What the row rests on in this project, where it judges that as a whole."""


def held_back(source: SourceFile, settings: Settings) -> list[HeldBack]:
    """The findings that rows hold back in a file, by position. Raises `BadSource`."""
    with priors.heard() as heard:
        there = Counter(map(_place, _look(source, settings)))
    found = []
    of_project: ForCuda | None = None
    leading = ""
    for row, now in _deciding(source, settings, sorted(heard), there):
        left = Counter(there)
        for finding in now:
            place = _place(finding)
            left[place] -= 1
            if left[place] < 0:
                why = ""
                if row.section == "cuda-projects":
                    of_project = of_project or _of_project(source, settings)
                    why = _evidence(of_project)
                elif str(row) == "leftovers/module":
                    leading = leading or _leading(source, settings)
                    why = leading
                found.append(HeldBack(finding, row, why))
    return sorted(found, key=lambda one: (one.finding.sort_key, one.row))


def _deciding(
    source: SourceFile,
    settings: Settings,
    heard: list[Prior],
    there: Counter[tuple[object, ...]],
) -> Iterator[tuple[Prior, list[Finding]]]:
    """The rows without each of which the findings are not those that are `there`, and what they
    are then. Rows without which together nothing changes are not looked at one by one."""
    todo = [heard] if heard else []
    while todo:
        rows = todo.pop()
        with priors.without(*rows):
            now = _look(source, settings)
        if Counter(map(_place, now)) == there:
            continue
        if len(rows) == 1:
            yield rows[0], now
        else:
            half = len(rows) // 2
            todo += [rows[half:], rows[:half]]


def _of_project(source: SourceFile, settings: Settings) -> ForCuda | None:
    around = Neighbours(settings)
    try:
        return around.for_cuda_alone(source.path)
    finally:
        around.release()


def _leading(source: SourceFile, settings: Settings) -> str:
    around = Neighbours(settings)
    try:
        return around.why_unreached(source.path)
    finally:
        around.release()


def _look(source: SourceFile, settings: Settings) -> list[Finding]:
    """The findings; neighbours are asked anew, since their answers rest on rows as well."""
    around = Neighbours(settings)
    try:
        return lint(source, settings, elsewhere=around)
    finally:
        around.release()  # they hold the project's trees in circles, and a folder has many files


def _evidence(why: ForCuda | None) -> str:
    return why.sentence if why is not None else ""


def _place(finding: Finding) -> tuple[object, ...]:
    return (*finding.sort_key, finding.message)
