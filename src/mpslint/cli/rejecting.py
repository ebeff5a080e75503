"""What a run proved wrong of a rewrite: left out, shown, and the rest tried once more."""

from __future__ import annotations

import difflib
import os
from typing import TYPE_CHECKING

from mpslint.cli.planning import plan_files
from mpslint.output import shown_path
from mpslint.records import NamedTuple

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from mpslint.cli.planning import Work
    from mpslint.fixing.fixer import Hidden
    from mpslint.fixing.fixing import Planned
    from mpslint.verify import Report


class Blamed(NamedTuple):
    """Where the rewritten program failed: the row of the user's own file, and the fixes that
    wrote the line there (none: the line is the user's own).
    """

    path: str
    row: int
    text: str
    fixes: Hidden


def blamed(report: Report, planned: Mapping[str, Planned]) -> Blamed | None:
    """The first line of a fixed file that an error of a failed run names."""
    files = {os.path.realpath(path): path for path in planned}
    for run in report.runs:
        error = run.error if run.verdict == "fail" else None
        path = files.get(os.path.realpath(str(error["file"]))) if error else None
        if error and path and error["line"]:
            return _in_the_users_file(path, planned[path], int(error["line"]))
    return None


def _in_the_users_file(path: str, planned: Planned, row: int) -> Blamed | None:
    before = planned.before.decode("utf-8", "replace").splitlines()
    after = planned.after.decode("utf-8", "replace").splitlines()
    for tag, i, end, j, last in difflib.SequenceMatcher(None, before, after, False).get_opcodes():
        if not j < row <= last:
            continue
        if tag == "equal":
            return _at(path, before, i + row - j, frozenset())
        rows = range(i + 1, max(end, i + 1) + 1)
        fixes = [fix for fix in planned.result.applied if fix.row in rows and fix.cell is None]
        at = min((fix.row for fix in fixes), default=min(i + 1, len(before)))
        return _at(path, before, at, frozenset(fix.key for fix in fixes))
    return None


def _at(path: str, lines: list[str], row: int, fixes: Hidden) -> Blamed | None:
    return Blamed(path, row, lines[row - 1].strip(), fixes) if 0 < row <= len(lines) else None


def planned_without(options: argparse.Namespace, found: Blamed) -> Work | None:
    """The same rewrite without the fixes that are blamed; None where nothing is left of it."""
    if not found.fixes:
        return None
    work = plan_files(options, {found.path: found.fixes})
    return work if any(not planned.new for planned in work.planned.values()) else None


def shown(found: Blamed, reason: str, whole: Work, kept: Mapping[str, Planned]) -> list[str]:
    """The line, the reason, what was not written there, and what to do next."""
    path = shown_path(found.path)
    lines = [f"REJECTED: {path}:{found.row}: {found.text}", f"  {reason}"]
    left = kept.get(found.path)
    before = left.after if left is not None else whole.planned[found.path].before
    after = whole.planned[found.path].after
    one, two = (text.decode("utf-8", "replace").splitlines() for text in (before, after))
    lines += [f"  {line}" for line in difflib.unified_diff(one, two, path, path, lineterm="", n=1)]
    lines.append(f"  next: rewrite this line by hand, then `mpslint verify {path}`")
    return lines
