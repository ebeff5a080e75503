"""`mpslint trace`: what a script would do on a device: syncs, copies, fallbacks, by line."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from mpslint.cli import ERROR, OK

if TYPE_CHECKING:
    import argparse

    from mpslint.cli.parsing import Parser
    from mpslint.model import Finding


def parser() -> Parser:
    from mpslint.cli.parsing import Parser
    from mpslint.cli.verification import add_verification

    options = Parser(
        "trace",
        "Run a script on a simulated device and show where it waits, copies and falls back.",
        "mpslint trace SCRIPT [OPTIONS] [-- SCRIPT ARGUMENTS]",
    )
    options.add_argument("script", metavar="SCRIPT")
    options.add_argument("--html", metavar="FILE", help="draw the timeline into this file")
    options.add_argument(
        "--chrome", metavar="FILE", help="write it for Perfetto and torch.profiler's viewers"
    )
    options.add_argument("--output-format", choices=("text", "json", "chrome"), default="text")
    add_verification(options, of_fix=False)
    return options


def _parse(arguments: list[str]) -> argparse.Namespace:
    from mpslint.cli.verification import split_script_arguments

    arguments, script_arguments = split_script_arguments(arguments)
    options = parser()
    parsed = options.parse_args(arguments)
    parsed.script_arguments = script_arguments
    parsed.device = parsed.device or ("mps",)
    if len(parsed.device) != 1:
        options.error("a trace is of one device")
    return parsed


def _findings(path: str) -> list[Finding]:
    """What all rules say about a file that was traced; nothing about one that cannot be read."""
    from mpslint.checking.checking import check_bytes
    from mpslint.errors import BadSource
    from mpslint.settings.settings import Settings
    from mpslint.sources.reading import read_bytes

    try:
        settings = Settings(select=("MPS",))
        data = read_bytes(path, settings.max_file_size)
        return list(check_bytes(path, data, settings, named=False).findings)
    except BadSource:
        return []


def run(arguments: list[str]) -> int:
    """Exit code 0: traced; 2: the script could not be run there."""
    from mpslint.cli.usage import require_writable
    from mpslint.cli.verification import announce, build_request

    options = _parse(arguments)
    for path in filter(None, (options.html, options.chrome)):
        require_writable(path, [options.script])
    request = build_request(options, options.script)
    from mpslint import pages
    from mpslint.verify import trace

    if options.html:
        pages.require()
    announce(request, sys.stdout if options.output_format == "text" else sys.stderr)
    result = trace(request, _findings)
    makers = {"text": result.to_text, "json": result.to_json, "chrome": result.to_chrome}
    print(makers[options.output_format]().rstrip("\n"))
    if options.html:
        pages.write(options.html, result.to_html())
    if options.chrome:
        pages.write(options.chrome, result.to_chrome())
    return OK if result.ok else ERROR
