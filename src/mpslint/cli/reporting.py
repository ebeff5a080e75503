"""Show the results of a run, and say with which exit code it ends."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TextIO

from mpslint.cli import ERROR, FINDINGS, OK, complain
from mpslint.cli.options import style, warn
from mpslint.errors import MpslintError, reason_of
from mpslint.findings.tally import Tally
from mpslint.output import FOR_PEOPLE

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from mpslint.findings.results import FileResult
    from mpslint.output import Style

_NOTHING = Tally()


class CannotReport(MpslintError):
    """The file that the output should go to cannot be written."""


def for_people(options: argparse.Namespace) -> TextIO:
    """Where a command tells what it does: stdout, unless that belongs to a program."""
    shown = options.output_format in FOR_PEOPLE and not options.output_file
    return sys.stdout if shown else sys.stderr


def report(
    options: argparse.Namespace,
    results: Sequence[FileResult],
    texts: dict[str, str],
    fixed: Tally = _NOTHING,
) -> int:
    """Print the results; `texts` holds what formats show where it is not what lies on disk."""
    look = style(options, _reader(texts))
    _emit(options, _report(options, results, look, fixed))
    for result in results:
        if result.warning:
            warn(result.warning)
        if result.error:
            sys.stdout.flush()
            complain(result.error)
    if options.output_format in FOR_PEOPLE and not options.quiet:
        from mpslint.output.text import summary

        _emit(options, summary(results, look, fixed), more=True)
    if any(result.error for result in results):
        return ERROR
    findings = any(result.findings for result in results)
    return FINDINGS if findings and not options.exit_zero else OK


def _reader(texts: dict[str, str]) -> Callable[[str], str]:
    def read(path: str) -> str:
        from mpslint.sources.opening import text_on_disk
        from mpslint.sources.reading import read_bytes

        return texts[path] if path in texts else text_on_disk(path, read_bytes(path))

    return read


def _report(
    options: argparse.Namespace, results: Sequence[FileResult], look: Style, fixed: Tally
) -> str:
    shown = options.output_format in FOR_PEOPLE
    if options.statistics and shown:
        from mpslint.output.text import statistics

        return statistics(results, look)
    if shown and not any(result.findings for result in results):
        return ""
    from mpslint.output import render

    return render(options.output_format, results, look)


def _emit(options: argparse.Namespace, text: str, *, more: bool = False) -> None:
    """Print, or write to the file of `--output-file`. Raises `CannotReport`."""
    if not options.output_file:
        sys.stdout.write(text)
        return
    try:
        with open(options.output_file, "a" if more else "w", encoding="utf-8", newline="") as file:
            file.write(text.encode("utf-8", "backslashreplace").decode("utf-8"))
    except OSError as error:
        reason = reason_of(error)
        raise CannotReport(f"{options.output_file}: cannot be written: {reason}") from None
