"""Code that is not to be mended today: baselines, and findings on changed lines alone."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from mpslint.basics.printable import printable
from mpslint.cli import ERROR, OK, complain
from mpslint.cli.options import warn
from mpslint.cli.usage import Usage
from mpslint.errors import BadSource, MpslintError
from mpslint.output import shown_path
from mpslint.output.text import count
from mpslint.sources.opening import open_source
from mpslint.sources.reading import read_bytes

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from mpslint.findings.baseline import Entry
    from mpslint.findings.results import FileResult
    from mpslint.model import Finding
    from mpslint.running.reported import Reported
    from mpslint.settings.file import SettingsFinder
    from mpslint.settings.settings import Settings
    from mpslint.sources.source import SourceFile

_SHOWN = 10
"""So many entries that are gone are named."""


def narrowed(
    reported: Reported, results: Sequence[FileResult], settings: dict[str, Settings]
) -> list[FileResult]:
    """The results with the findings that count. Raises `BadBaseline` and `GitFailed`."""
    return [reported.narrow(result, settings[result.path])[0] for result in results]


def tell_gone(reported: Reported, paths: Sequence[str], quiet: bool) -> None:
    """Name the entries of a baseline whose findings are no more, on stderr."""
    gone = reported.gone(paths)
    if not gone or quiet:
        return
    sys.stdout.flush()
    for entry, times in gone[:_SHOWN]:
        warn(f"gone from the baseline: {_named(entry, times)}")
    more = f" ({len(gone) - _SHOWN} more are not shown)" if len(gone) > _SHOWN else ""
    number = sum(times for _, times in gone)
    total = f"{count(number, 'finding')} of the baseline {'is' if number == 1 else 'are'} gone"
    warn(f"{total}{more}; `--write-baseline` forgets them")


def _named(entry: Entry, times: int) -> str:
    several = f" ({times} times)" if times > 1 else ""
    return f"{entry.path}: {entry.code} {entry.text}{several}"


def write_baselines(
    options: argparse.Namespace,
    finder: SettingsFinder,
    results: Sequence[FileResult],
    settings: dict[str, Settings],
) -> int:
    """`--write-baseline`: exit code 0, or 2 where a file could not be checked; what is known of
    that file stays. Raises `Usage` and `BadBaseline`."""
    from mpslint.findings.baseline import Baseline, read_baseline, write_baseline

    if options.diff_base is not None:
        raise Usage("--write-baseline writes all findings; leave out --diff-base")
    from mpslint.running.reported import Reported

    reported = Reported(finder)
    files: dict[str, list[FileResult]] = {}
    trusted = finder.by_hand("baseline")
    for result in results:
        path = _written(settings[result.path], trusted)
        if path is not None:
            files.setdefault(os.path.abspath(path), []).append(result)
        elif result.findings:
            raise Usage("--write-baseline needs a file: name it with --baseline FILE")
        reported.note(result, settings[result.path])
    own = _written(finder.for_folder("."), trusted)
    if own is not None:
        files.setdefault(os.path.abspath(own), [])
    if not files:
        raise Usage("--write-baseline needs a file: name it with --baseline FILE")
    about = reported.about(options.paths or ["."])
    for path, checked in files.items():
        before = read_baseline(path) if os.path.lexists(path) else Baseline(path)
        found = []
        for result in checked:
            if result.findings:
                try:
                    source = open_source(result.path, read_bytes(result.path))
                except BadSource:
                    source = None
                found.append((result.path, result.findings, source))
        written = write_baseline(before, found, before.kept(about.judges))
        if not options.quiet:
            print(f"Wrote {count(written, 'finding')} to {printable(shown_path(path))}.")
    errors = [result.error for result in results if result.error]
    for error in errors:
        complain(error)
    return ERROR if errors else OK


def _written(settings: Settings, trusted: bool) -> str | None:
    """The baseline to write; what a settings file names and nobody else (`trusted`: somebody did)
    lies in the project of that file, or whoever wrote it could have any file made. Raises `Usage`.
    """
    path = settings.baseline
    if path is None or trusted:
        return path
    from mpslint.folders.git import find

    repository = find(settings.root)
    project = repository.top if repository else os.path.realpath(settings.root)
    if os.path.realpath(path).startswith(os.path.join(project, "")):
        return path
    shown, where = os.path.normpath(path), settings.origin
    raise Usage(
        f"{where}: its baseline {shown} lies outside of {project} and is not written; name it with "
        f"--baseline {shown}, or a file in there"
    )


def add_noqa(
    options: argparse.Namespace, results: Sequence[FileResult], settings: dict[str, Settings]
) -> int:
    """`--add-noqa`: exit code 0, or 2 where a file could not be checked or written."""
    from mpslint.findings.silencing import noqa_edits
    from mpslint.folders.discovery import leads_out
    from mpslint.rules.registry import UNUSED
    from mpslint.sources.writer import replace

    added = files = 0
    paths = options.paths or ["."]
    reasons = [result.error for result in results if result.error]
    for result in results:
        # Of a comment that silences nothing, another comment is no cure.
        findings = [finding for finding in result.findings if finding.code != UNUSED]
        if not findings:
            continue
        if result.path not in paths and (why := leads_out(result.path, paths)):
            reasons.append(f"{result.path}: not changed: {why}")
            continue
        try:
            source = open_source(result.path, read_bytes(result.path))
            edits = noqa_edits(source, findings)
            silenced = source.with_edits(edits)
            replace(result.path, source.on_disk, silenced.on_disk)
        except MpslintError as error:
            reasons.append(str(error))
            continue
        added, files = added + len(edits), files + 1
        for finding in _still_heard(result, silenced, settings[result.path]):
            warn(f"{result.path}:{finding.place}: {finding.code} could not be silenced")
    if not options.quiet:
        print(f"Added {count(added, 'noqa comment')} to {count(files, 'file')}.")
    for reason in reasons:
        complain(reason)
    return ERROR if reasons else OK


def _still_heard(result: FileResult, source: SourceFile, settings: Settings) -> list[Finding]:
    """The findings of a file that its new comments do not silence."""
    from mpslint.checking.checking import check_bytes
    from mpslint.rules.registry import UNUSED

    after = check_bytes(result.path, source.on_disk, settings, named=True, around={})
    meant = {(finding.code, finding.cell, finding.row) for finding in result.findings}
    return [f for f in after.findings if f.code != UNUSED and (f.code, f.cell, f.row) in meant]
