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
    """Exit code 0: pass or ran; 1: fail; 3: inconclusive, skipped or, without `--allow-partial`,
    partial. Who asks for JSON gets it however this ends.
    """
    if not _asks_for_json(arguments):
        return _run(arguments)
    try:
        return _run(arguments)
    except BrokenPipeError:
        raise
    except (Exception, KeyboardInterrupt, SystemExit) as error:
        print(_refusal(arguments, error), flush=True)
        raise


def _run(arguments: list[str]) -> int:
    from mpslint.cli.verification import FAIL, announce, build_request, is_proof, tell
    from mpslint.verify import verify

    options = _parse(arguments)
    request = build_request(options, options.script, original=options.original)
    announce(request, sys.stdout if options.output_format == "text" else sys.stderr)
    report = verify(request, tell)
    text = report.to_json() if options.output_format == "json" else report.to_text()
    print(text.rstrip("\n"))
    if report.verdict == FAIL:
        return FINDINGS
    return OK if is_proof(report.verdict, options.allow_partial) else NOT_VERIFIED


def _asks_for_json(arguments: list[str]) -> bool:
    """Read by hand: the command line itself may be what is wrong."""
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    pairs = zip(own, [*own[1:], ""], strict=False)
    return any(
        one == "--output-format=json" or (one, two) == ("--output-format", "json")
        for one, two in pairs
    ) and not {"-h", "--help"} & set(own)


def _refusal(arguments: list[str], error: BaseException) -> str:
    """The report of a verification that did not come to its end."""
    from mpslint.errors import MpslintError
    from mpslint.verify import Report

    reason = str(error) if isinstance(error, MpslintError) else type(error).__name__
    if isinstance(error, SystemExit):
        reason = "wrong arguments"  # argparse has said which
    if isinstance(error, KeyboardInterrupt):
        reason = "interrupted"
    script = next((one for one in arguments if one.endswith(".py")), "")
    return Report(script, (), "skipped", f"no verdict: {reason}").to_json()
