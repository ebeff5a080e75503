"""`mpslint check`: report findings."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from mpslint.cli import ERROR, FINDINGS, OK
from mpslint.cli.options import (
    add_output,
    add_paths,
    add_running,
    add_settings,
    find_settings,
    progress,
    style,
    warn,
)
from mpslint.cli.parsing import Parser

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from mpslint.results import FileResult


def _parse(arguments: list[str]) -> argparse.Namespace:
    options = Parser("check", "Report code that only runs on CUDA.")
    add_paths(options)
    options.add_argument("--fix", action="store_true", help="apply safe fixes, without running")
    options.add_argument("--unsafe-fixes", action="store_true", help="apply unsafe fixes as well")
    options.add_argument("--diff", action="store_true", help="show what fixes would change")
    add_output(options)
    add_settings(options)
    add_running(options)
    return options.parse_args(arguments)


def run(arguments: list[str]) -> int:
    """Exit code 0: clean; 1: findings; 2: something could not be checked."""
    options = _parse(arguments)
    if options.fix or options.diff:
        from mpslint.cli.fix import run_plain

        return run_plain(options)
    if "-" in options.paths:
        return report(options, [_stdin(options)], {})
    from mpslint.discovery import targets
    from mpslint.runner import check_all

    finder = find_settings(options)
    shown = progress()
    try:
        results = check_all(
            targets(options.paths or ["."], finder, warn),
            jobs=options.jobs,
            executor=options.executor,
            cache=not options.no_cache,
            with_fixes=options.output_format in ("json", "full"),
            progress=shown,
        )
    finally:
        if shown is not None:
            shown.clear()
    if not results:
        from mpslint.selectors import require_known

        require_known(finder.for_folder("."))
    return report(options, results, {})


def _stdin(options: argparse.Namespace) -> FileResult:
    from mpslint.checking import check_bytes, guarded

    name = options.stdin_filename or "-"
    settings = find_settings(options).for_file(name)
    data = sys.stdin.buffer.read()
    result = guarded(name, lambda: check_bytes(name, data, settings, named=True, around={}))
    _STDIN[name] = data
    return result


_STDIN: dict[str, bytes] = {}
"""What was read from stdin, for formats that show source."""


def report(
    options: argparse.Namespace,
    results: Sequence[FileResult],
    texts: dict[str, str],
    fixed: int = 0,
) -> int:
    """Print the results; `texts` holds what formats show where it is not what lies on disk."""
    from mpslint.output import render

    def read(path: str) -> str:
        from mpslint.opening import text_on_disk
        from mpslint.reading import read_bytes

        if path in texts:
            return texts[path]
        return text_on_disk(path, _STDIN[path] if path in _STDIN else read_bytes(path))

    look = style(options, read)
    findings = any(result.findings for result in results)
    shown = options.output_format in ("full", "concise")
    out = sys.stdout.write
    if options.statistics and shown:
        from mpslint.output.text import statistics

        out(statistics(results, look))
    elif findings or not shown:
        out(render(options.output_format, results, look))
    for result in results:
        if result.warning:
            warn(result.warning)
        if result.error:
            sys.stdout.flush()
            print(f"error: {result.error}", file=sys.stderr)
    if shown and not options.quiet:
        from mpslint.output.text import summary

        out(summary(results, look, fixed))
    if any(result.error for result in results):
        return ERROR
    return FINDINGS if findings and not options.exit_zero else OK
