"""Checks files as a command's options say, and shows how far it is."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from mpslint.findings.results import FileResult
    from mpslint.folders.discovery import Target
    from mpslint.together.withheld import Projects


def check_files(
    options: argparse.Namespace,
    files: list[Target],
    *,
    with_fixes: bool,
    to_fix: Projects | None = None,
) -> list[FileResult]:
    """The result of each file, in order; with what other files have against its fixes, unless they
    are `to_fix`, which finds that out by making them in these projects. How far a long run is
    stands in a line on stderr, where that is a terminal."""
    from mpslint.basics import collector
    from mpslint.together.withheld import Projects

    with collector.off():
        if to_fix is not None:
            return _check_files(options, files, with_fixes, to_fix, promised=False)
        projects = Projects()
        results = _check_files(options, files, with_fixes, projects, promised=True)
        projects.release_around()
        return results


def _check_files(
    options: argparse.Namespace,
    files: list[Target],
    with_fixes: bool,
    projects: Projects,
    *,
    promised: bool,
) -> list[FileResult]:
    from mpslint.cli.progress import Progress
    from mpslint.porting.bringing import hangs_on_others
    from mpslint.running.runner import check_all
    from mpslint.together.withheld import may_be_left

    shown = Progress() if sys.stderr.isatty() else None
    try:
        results = check_all(
            files,
            jobs=options.jobs,
            executor=options.executor,
            cache=not options.no_cache,
            with_fixes=with_fixes,
            progress=shown,
            around=projects.around,
        )
        decides = may_be_left if promised else hangs_on_others
        if not any(decides(one) for result in results for one in result.findings):
            return results
        helped = any(file.settings.helper_module is not None for file in files)
        if not promised or options.no_cache or helped:
            return _together(files, results, projects, promised=promised)
        from mpslint.running.remembered import Remembered

        before = Remembered(files, results, with_fixes=with_fixes)
        known = before.known()
        if known is not None:
            return known
        results = _together(files, results, projects, promised=True)
        before.keep(results, projects)
        return results
    finally:
        if shown is not None:
            shown.clear()


def _together(
    files: list[Target], results: list[FileResult], projects: Projects, *, promised: bool
) -> list[FileResult]:
    """The results with what other files have against their fixes."""
    from mpslint.together.withheld import as_fixed, as_whole, may_be_left

    results = list(as_whole(as_fixed(results, files, projects), files, projects))
    if promised and any(may_be_left(one) for result in results for one in result.findings):
        from mpslint.together.promised import as_promised

        as_promised(results, files, projects)
    return results
