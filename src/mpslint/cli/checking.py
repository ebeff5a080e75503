"""Checks files as a command's options say, and shows how far it is."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from mpslint.discovery import Target
    from mpslint.results import FileResult


def check_files(
    options: argparse.Namespace, files: list[Target], *, with_fixes: bool
) -> list[FileResult]:
    """The result of each file, in order. How far a long run is stands in a line on stderr, where
    that is a terminal."""
    from mpslint.cli.progress import Progress
    from mpslint.runner import check_all
    from mpslint.withheld import as_fixed

    shown = Progress() if sys.stderr.isatty() else None
    try:
        results = check_all(
            files,
            jobs=options.jobs,
            executor=options.executor,
            cache=not options.no_cache,
            with_fixes=with_fixes,
            progress=shown,
        )
        return list(as_fixed(results, files))
    finally:
        if shown is not None:
            shown.clear()
