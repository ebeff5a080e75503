"""`mpslint verify`: run a script on cpu and simulated devices and give a verdict."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from mpslint.cli import FINDINGS, NOT_VERIFIED, OK

if TYPE_CHECKING:
    import argparse

    from mpslint.cli.parsing import Parser


def parser() -> Parser:
    from mpslint.cli.parsing import Parser
    from mpslint.cli.verification import add_verification

    options = Parser(
        "verify",
        "Run a script on cpu and simulated devices, in a sandboxed copy, and give a verdict.",
        "mpslint verify SCRIPT [OPTIONS] [-- SCRIPT ARGUMENTS]",
    )
    options.add_argument("script", metavar="SCRIPT")
    options.add_argument("--original", metavar="FILE", help="the script before its rewrite")
    options.add_argument("--output-format", choices=("text", "json"), default="text")
    add_verification(options, of_fix=False)
    return options


def _parse(arguments: list[str]) -> argparse.Namespace:
    from mpslint.cli.verification import split_script_arguments

    arguments, script_arguments = split_script_arguments(arguments)
    parsed = parser().parse_args(arguments)
    parsed.script_arguments = script_arguments
    return parsed


def run(arguments: list[str]) -> int:
    """Exit code 0: pass; 1: fail; 3: inconclusive or skipped."""
    from mpslint.cli.verification import FAIL, PASS, announce, build_request, tell
    from mpslint.verify import verify

    options = _parse(arguments)
    request = build_request(options, options.script, original=options.original)
    announce(request, sys.stdout if options.output_format == "text" else sys.stderr)
    report = verify(request, tell)
    text = report.to_json() if options.output_format == "json" else report.to_text()
    print(text.rstrip("\n"))
    return {PASS: OK, FAIL: FINDINGS}.get(report.verdict, NOT_VERIFIED)
