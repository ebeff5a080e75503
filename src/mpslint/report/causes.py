"""The few places behind many findings."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from mpslint.output import shown_path
from mpslint.report.model import Cause, Place
from mpslint.report.origins import Origin, origin_of
from mpslint.report.reach import uses_of
from mpslint.sources.opening import line_of, position

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mpslint.model import Edit
    from mpslint.report.meaning import Meanings
    from mpslint.report.model import Issue

_TITLES = {
    "switch": "`{}` decides where the GPU is used",
    "selection": "`{}` selects the device",
    "loop": "a training loop that waits for the device",
    "test": "a test that decides where the GPU is used",
}
_LEAST = 2
"""A place behind fewer findings and uses is told by its finding alone."""


def causes_of(
    meanings: Meanings, issues: Sequence[Issue], shown: Mapping[str, str]
) -> tuple[Cause, ...]:
    """The causes, the widest first. `shown`: the paths of the project's files as given, by their
    absolute paths."""
    origins = _origins(meanings, issues)
    selections = [origin for origin in origins if origin.kind == "selection"]
    uses = uses_of(meanings, selections, meanings.settings) if selections else {}
    claimed = Counter(use for used in uses.values() for use in used)
    causes = []
    for origin, members in origins.items():
        used = uses.get(origin, [])
        places = _places(meanings, used)
        if max(len(members), len(places)) >= _LEAST:
            cause = _cause(meanings, origin, members, places, shown)
            causes.append(cause._replace(shared=sum(claimed[use] > 1 for use in used)))
    taken = {index for cause in causes for index in cause.issues}
    causes += _unselected(meanings, issues, taken)
    return tuple(sorted(causes, key=_widest_first))


def _widest_first(cause: Cause) -> tuple[int, str, int]:
    return -len(cause.issues) - len(cause.uses), cause.place.path, cause.place.row


def _origins(meanings: Meanings, issues: Sequence[Issue]) -> dict[Origin, list[int]]:
    found: dict[Origin, list[int]] = defaultdict(list)
    for index, issue in enumerate(issues):
        context = meanings.context(issue.place.path)
        try:
            origin = origin_of(meanings, context, issue.finding) if context is not None else None
        except RecursionError:
            origin = None  # nested too deeply to follow: the finding stands for itself
        if origin is not None:
            found[origin].append(index)
    return found


def _cause(
    meanings: Meanings,
    origin: Origin,
    members: list[int],
    uses: tuple[Place, ...],
    shown: Mapping[str, str],
) -> Cause:
    path, _, cell = origin.path.partition("#")
    path = shown.get(path) or shown_path(path)
    place = _place(meanings, path, origin.row, int(cell) if cell else None)
    title = _TITLES[origin.kind].format(origin.name)
    return Cause(origin.kind, title, place, tuple(members), uses)


def _place(meanings: Meanings, path: str, row: int, cell: int | None) -> Place:
    source = meanings.source(path)
    text = line_of(source, cell, row) if source is not None else None
    return Place(path, row, (text or "").strip(), cell)


def _places(meanings: Meanings, uses: list[tuple[str, int]]) -> tuple[Place, ...]:
    found = []
    for path, offset in uses:
        source = meanings.source(path)
        if source is not None:
            cell, row, _ = position(source, offset)
            found.append(_place(meanings, path, row, cell))
    return tuple(found)


def _unselected(meanings: Meanings, issues: Sequence[Issue], taken: set[int]) -> list[Cause]:
    """Files that select no device: the selection that fixes would write serves several findings."""
    by_edit: dict[tuple[str, Edit], list[int]] = defaultdict(list)
    for index, issue in enumerate(issues):
        fix = issue.finding.fix if index not in taken else None
        for edit in fix.edits if fix is not None else ():
            if edit.start == edit.end:
                by_edit[issue.place.path, edit].append(index)
    causes = []
    for (path, edit), members in by_edit.items():
        free = [index for index in members if index not in taken]
        source = meanings.source(path)
        if len(free) < _LEAST or "device" not in edit.text or source is None:
            continue
        taken.update(free)
        cell, row, _ = position(source, edit.start)
        text = edit.text.strip()
        title = f"{os.path.basename(path)} selects no device; one selection serves all"
        causes.append(Cause("unselected", title, Place(path, row, text, cell), tuple(free)))
    return causes
