"""What a run proved wrong of a rewrite: left out, shown, and the rest tried once more. Where it
failed in a file that was not to be rewritten, that file is named."""

from __future__ import annotations

import copy
import difflib
import os
import shlex
from typing import TYPE_CHECKING

from mpslint.cli.planning import plan_files
from mpslint.output import shown_path
from mpslint.records import NamedTuple

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

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
    for name, line in _failures(report):
        if path := files.get(os.path.realpath(name)):
            return _in_the_users_file(path, planned[path], line)
    return None


def _failures(report: Report) -> Iterator[tuple[str, int]]:
    """File and row of the errors with which runs failed."""
    for run in report.runs:
        if run.verdict == "fail" and run.error and run.error["file"] and run.error["line"]:
            yield str(run.error["file"]), int(run.error["line"])


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


def next_file(
    options: argparse.Namespace, report: Report, planned: Mapping[str, Planned], script: str
) -> str | None:
    """What to do about the first file of the program that a run failed in and that is as it was."""
    known = {os.path.realpath(path) for path in planned}
    below = os.path.join(os.path.realpath(os.path.dirname(os.path.abspath(script))), "")
    for name, row in _failures(report):
        real = os.path.realpath(name)
        if real in known or not real.startswith(below) or not os.path.isfile(real):
            continue
        path = shown_path(os.path.abspath(name))
        alone = copy.copy(options)
        alone.paths = [path]
        if any(not one.new for one in plan_files(alone).planned.values()):
            paths = shlex.join(dict.fromkeys([*(options.paths or ["."]), path]))
            entry = shlex.quote(shown_path(script))
            unsafe = "--unsafe-fixes " if options.unsafe_fixes else ""
            return (
                f"next: {path} has a fix of its own; to make and run both: "
                f"`mpslint fix {unsafe}--entry {entry} {paths}`"
            )
        # The line where it ends may be right, and what it is given be wrong.
        return (
            f"next: nothing was fixed in {path}, which fails at line {row}: rewrite that line, or "
            "what it is given, by hand"
        )
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
