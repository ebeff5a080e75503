"""The report as one self-contained page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpslint import pages
from mpslint.output import shown_path
from mpslint.records import NamedTuple
from mpslint.report.areas import areas
from mpslint.report.model import REMEDIES, SEVERITIES
from mpslint.report.operators import RELEASES
from mpslint.report.summary import (
    SETTLES,
    answer,
    by_severity_and_remedy,
    does,
    hazards,
    rule_rows,
)
from mpslint.verify import trace_page

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mpslint.report.areas import Area
    from mpslint.report.model import Issue, Survey

_MOST_PLACES = 60
"""So many places are listed below a cause; the rest is in the list of findings."""


class Level(NamedTuple):
    """One level of the chart: a folder with what lies right below it."""

    area: Area
    trail: tuple[Area, ...]
    """The areas above, the whole project first."""
    most: int
    """The longest bar."""


class FileRow(NamedTuple):
    path: str
    issues: tuple[tuple[int, Issue], ...]


def render(survey: Survey) -> str:
    """The page. Raises `mpslint.pages.NoTemplates`."""
    tree = areas(survey)
    return pages.render(
        "report.html",
        survey=survey,
        answer=answer(survey),
        severities=SEVERITIES,
        remedies=REMEDIES,
        does=does(survey),
        settles=SETTLES,
        matrix=by_severity_and_remedy(survey),
        levels=tuple(_levels(tree, ())),
        rules=rule_rows(survey),
        hazards=hazards(survey),
        releases=RELEASES,
        files=_by_file(survey.issues),
        cause_of={index: n for n, cause in enumerate(survey.causes) for index in cause.issues},
        most_places=_MOST_PLACES,
        traces=tuple(map(trace_page.view, survey.traces)),
        shown_path=shown_path,
    )


def _levels(area: Area, trail: tuple[Area, ...]) -> Iterator[Level]:
    yield Level(area, trail, max((child.total for child in area.children), default=1))
    for child in area.children:
        if child.children:
            yield from _levels(child, (*trail, area))


def _by_file(issues: Sequence[Issue]) -> tuple[FileRow, ...]:
    rows: dict[str, list[tuple[int, Issue]]] = {}
    for index, issue in enumerate(issues):
        rows.setdefault(issue.place.path, []).append((index, issue))
    return tuple(FileRow(path, tuple(found)) for path, found in sorted(rows.items()))
