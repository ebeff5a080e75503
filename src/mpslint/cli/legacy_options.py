"""The options of `legacy.py`, by themselves: most runs have none of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpslint.cli.usage import Usage

if TYPE_CHECKING:
    import argparse

    from mpslint.cli.parsing import Parser


def add_legacy(into: Parser, *, writes: bool) -> None:
    group = into.add_argument_group("legacy code")
    group.add_argument(
        "--diff-base", metavar="REF", help="only what lines bring that changed since this commit"
    )
    if writes:
        group.add_argument(
            "--write-baseline",
            action="store_true",
            help="write all findings to the file of --baseline, which are known from then on",
        )
        group.add_argument(
            "--add-noqa",
            action="store_true",
            help="silence all findings by `# noqa` comments on their lines",
        )


def require_one_job(options: argparse.Namespace) -> None:
    """Raise `Usage` for options of which each wants to do something else with the findings."""
    jobs = ("fix", "diff", "write_baseline", "add_noqa", "explain_silence")
    asked = [f"--{name.replace('_', '-')}" for name in jobs if getattr(options, name)]
    if len(asked) > 1 and asked != ["--fix", "--diff"]:
        raise Usage(f"{asked[0]} and {asked[1]} cannot be given together; run mpslint twice")
    about_files = options.write_baseline or options.add_noqa or options.explain_silence
    if "-" in options.paths and about_files:
        raise Usage(f"{asked[0]} is about files; stdin (`-`) is none")
    if options.explain_silence and options.diff_base is not None:
        raise Usage("--explain-silence is about whole files; leave out --diff-base")
