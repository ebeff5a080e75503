"""The findings by area: a tree of folders and files, each with what lies below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpslint.records import NamedTuple
from mpslint.report.model import SEVERITIES, tally

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mpslint.report.model import Survey


class Area(NamedTuple):
    """A folder or a file that holds findings."""

    path: str
    """Ends with a slash where it is a folder; empty for the whole project."""
    name: str
    counts: Mapping[str, int]
    """Findings by severity."""
    files: int
    """How many files that speak of torch lie here."""
    children: tuple[Area, ...] = ()

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def is_file(self) -> bool:
        return bool(self.path) and not self.path.endswith("/")


def areas(survey: Survey) -> Area:
    """The whole project as a tree; a folder that holds only one other is told with that."""
    by_file: dict[str, dict[str, int]] = {}
    for issue in survey.issues:
        path = issue.place.path
        by_file.setdefault(path, dict.fromkeys(SEVERITIES, 0))[issue.severity] += 1
    torch = [path for path, speaks in survey.files.items() if speaks]
    name, children = survey.title, _below("", by_file, torch)
    while len(children) == 1 and children[0].children:
        # Where all lies in one folder, the chart begins with what is in that.
        name, children = f"{survey.title}: {children[0].path}", children[0].children
    return Area("", name, tally(survey.issues), len(torch), children)


def _below(
    folder: str, by_file: Mapping[str, Mapping[str, int]], torch: list[str]
) -> tuple[Area, ...]:
    """The areas right below a folder, those that break most first."""
    files = [path for path in by_file if "/" not in path[len(folder) :].lstrip("/")]
    found = [Area(path, path[len(folder) :], by_file[path], 1) for path in files]
    heads = {_head(folder, path) for path in by_file if path not in files}
    for head in heads:
        inside = {path: counts for path, counts in by_file.items() if path.startswith(head)}
        speaking = [path for path in torch if path.startswith(head)]
        children = _below(head, inside, speaking)
        path = head
        if len(children) == 1 and not children[0].is_file:
            path, children = children[0].path, children[0].children
        counts = {name: sum(row[name] for row in inside.values()) for name in SEVERITIES}
        found.append(Area(path, path[len(folder) :], counts, len(speaking), children))
    return tuple(sorted(found, key=_worst_first))


def _head(folder: str, path: str) -> str:
    """The folder right below `folder` that a path lies in; an absolute path keeps its root."""
    rest = path[len(folder) :]
    rooted = len(rest) - len(rest.lstrip("/"))
    return folder + rest[: rest.index("/", rooted) + 1]


def _worst_first(area: Area) -> tuple[int, int, str]:
    return -area.counts[SEVERITIES[0]], -area.total, area.path
