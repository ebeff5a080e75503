"""`mpslint trace`: what a script would do on a device: syncs, copies, fallbacks, by line."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from mpslint.cli import ERROR, OK, fail

if TYPE_CHECKING:
    import argparse

    from mpslint.model import Finding


def _parse(arguments: list[str]) -> argparse.Namespace:
    from mpslint.cli.parsing import Parser
    from mpslint.cli.verification import add_verification, split_script_arguments

    arguments, script_arguments = split_script_arguments(arguments)
    options = Parser(
        "trace",
        "Run a script on a simulated device and show where it waits, copies and falls back.",
        "mpslint trace SCRIPT [OPTIONS] [-- SCRIPT ARGUMENTS]",
    )
    options.add_argument("script", metavar="SCRIPT")
    options.add_argument("--html", metavar="FILE", help="draw the timeline into this file")
    options.add_argument("--output-format", choices=("text", "json"), default="text")
    add_verification(options, of_fix=False)
    parsed = options.parse_args(arguments)
    parsed.script_arguments = script_arguments
    parsed.device = parsed.device or ("mps",)
    if len(parsed.device) != 1:
        options.error("a trace is of one device")
    return parsed


def _findings(path: str) -> list[Finding]:
    """What all rules say about a file that was traced; nothing about one that cannot be read."""
    from mpslint.checking import check_bytes
    from mpslint.errors import BadSource
    from mpslint.settings import Settings

    try:
        with open(path, "rb") as file:
            data = file.read()
        return list(check_bytes(path, data, Settings(select=("MPS",)), named=False).findings)
    except (OSError, BadSource):
        return []


def run(arguments: list[str]) -> int:
    """Exit code 0: traced; 2: the script could not be run there."""
    from mpslint.cli.verification import announce, build_request

    options = _parse(arguments)
    request = build_request(options, options.script)
    from mpslint.verify import trace

    announce(request, sys.stdout if options.output_format == "text" else sys.stderr)
    result = trace(request, _findings)
    text = result.to_json() if options.output_format == "json" else result.to_text()
    print(text.rstrip("\n"))
    if options.html:
        from mpslint.errors import reason_of

        try:
            with open(options.html, "w", encoding="utf-8") as file:
                file.write(result.to_html())
        except OSError as error:
            return fail(f"{options.html}: the timeline cannot be written: {reason_of(error)}")
    return OK if result.ok else ERROR
