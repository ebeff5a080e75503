"""`mpslint report`: can this project run on a Mac? One page to read before deciding."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from mpslint.basics.printable import printable
from mpslint.cli import ERROR, OK, complain
from mpslint.cli.checking import check_files
from mpslint.cli.options import add_running, add_settings, find_settings, warn
from mpslint.cli.parsing import Parser
from mpslint.cli.usage import require_writable
from mpslint.errors import MpslintError

if TYPE_CHECKING:
    from mpslint.report.model import Survey

_FORMATS = ("html", "markdown", "json")
_BY_SUFFIX = {
    ".html": "html",
    ".htm": "html",
    ".md": "markdown",
    ".markdown": "markdown",
    ".json": "json",
}


class UnknownFormat(MpslintError):
    """The name of the output does not say what to write."""


def parser() -> Parser:
    options = Parser(
        "report",
        "Say whether a project can run on a Mac: what breaks, where, why, and who settles it.",
    )
    options.add_argument("paths", nargs="*", metavar="PATH", help="files and folders (default: .)")
    options.add_argument("-o", "--output", metavar="FILE", help="write it here (default: stdout)")
    options.add_argument(
        "--format",
        choices=_FORMATS,
        metavar="FORMAT",
        help="html, markdown or json (default: by the name of FILE, else markdown)",
    )
    options.add_argument(
        "--verdict",
        action="append",
        metavar="FILE",
        help="show this verdict, made by `mpslint verify --output-format json` (repeatable)",
    )
    options.add_argument(
        "--trace",
        action="append",
        metavar="FILE",
        help="show this trace, made by `mpslint trace --output-format json` (repeatable)",
    )
    add_settings(options)
    add_running(options)
    return options


def run(arguments: list[str]) -> int:
    """Exit code 0: the report is written; 2: as well, but a file could not be read."""
    from mpslint import pages
    from mpslint.verify.recorded import read_report, read_trace

    options = parser().parse_args(arguments)
    form = options.format or _format_of(options.output)
    if options.output and options.output != "-":
        require_writable(options.output, options.paths)
    if form == "html":
        pages.require()
    verdicts = [read_report(path) for path in options.verdict or ()]
    traces = [read_trace(path) for path in options.trace or ()]

    from mpslint.folders.discovery import targets
    from mpslint.report.survey import survey

    paths = options.paths or ["."]
    found = list(targets(paths, find_settings(options), warn))
    results = check_files(options, found, with_fixes=True)
    made = survey(paths, found, results, verdicts=verdicts, traces=traces)
    text = _rendered(form, made)
    if options.output and options.output != "-":
        pages.write(options.output, text)
        line = f"wrote {options.output}: {_first_line(made)}"
        print(printable(line), file=sys.stderr)
    else:
        sys.stdout.write(text)
    for result in results:
        if result.error:
            complain(result.error)
    return ERROR if any(result.error for result in results) else OK


def _format_of(output: str | None) -> str:
    """The format by the output's name. Raises `UnknownFormat`."""
    if output is None or output == "-":
        return "markdown"
    import os

    form = _BY_SUFFIX.get(os.path.splitext(output)[1].lower())
    if form is None:
        raise UnknownFormat(f"{output}: name it .html, .md or .json, or say --format FORMAT")
    return form


def _rendered(form: str, made: Survey) -> str:
    from importlib import import_module

    module = {"html": "html", "markdown": "markdown", "json": "document"}[form]
    text: str = import_module(f"mpslint.report.{module}").render(made)
    return text


def _first_line(made: Survey) -> str:
    from mpslint.report.summary import answer

    return answer(made)
