"""What a check says nothing of because of a row of the priors: found by leaving the row out.

A file is looked at again without each row that decided something at the first look, in it or in
a file of its project that it rests on. So a row is named for what it alone holds back; what two
rows hold back, each by itself, neither is named for.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mpslint.facts import priors
from mpslint.linter import lint
from mpslint.neighbours import Neighbours
from mpslint.records import NamedTuple

if TYPE_CHECKING:
    from mpslint.facts.priors import Prior
    from mpslint.model import Finding
    from mpslint.semantics.elsewhere import ForCuda
    from mpslint.settings import Settings
    from mpslint.source import SourceFile


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
    for row in sorted(heard):
        with priors.without(row):
            now = _look(source, settings)
        left = Counter(there)
        for finding in now:
            place = _place(finding)
            left[place] -= 1
            if left[place] < 0:
                why = ""
                if row.section == "cuda-projects":
                    of_project = of_project or _of_project(source, settings)
                    why = _evidence(of_project)
                found.append(HeldBack(finding, row, why))
    return sorted(found, key=lambda one: (one.finding.sort_key, one.row))


def _of_project(source: SourceFile, settings: Settings) -> ForCuda | None:
    around = Neighbours(settings)
    try:
        return around.for_cuda_alone(source.path)
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
