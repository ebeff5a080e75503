"""`mpslint check`: report findings."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from mpslint.cli.checking import check_files
from mpslint.cli.legacy_options import add_legacy, require_one_job
from mpslint.cli.options import (
    add_output,
    add_paths,
    add_running,
    add_settings,
    find_settings,
    warn,
)
from mpslint.cli.parsing import Parser
from mpslint.cli.reporting import report
from mpslint.cli.usage import settle

if TYPE_CHECKING:
    import argparse


def parser() -> Parser:
    options = Parser("check", "Report code that only runs on CUDA.")
    add_paths(options)
    options.add_argument("--fix", action="store_true", help="apply safe fixes, without running")
    options.add_argument("--unsafe-fixes", action="store_true", help="apply unsafe fixes as well")
    options.add_argument("--diff", action="store_true", help="show what fixes would change")
    options.add_argument(
        "--explain-silence",
        action="store_true",
        help="list instead what is not reported since a name makes it likely to be right, or since "
        "nothing of the project uses it, each with the reason",
    )
    add_output(options)
    add_legacy(options, writes=True)
    add_settings(options)
    add_running(options)
    return options


def run(arguments: list[str]) -> int:
    """Exit code 0: clean; 1: findings; 2: something could not be checked."""
    options = parser().parse_args(arguments)
    settle(options)
    require_one_job(options)
    if options.explain_silence:
        from mpslint.cli.silence import explain

        return explain(options)
    if options.fix or options.diff:
        from mpslint.cli.fix import run_plain

        return run_plain(options)
    if "-" in options.paths:
        from mpslint.cli.stdin import is_stdin

        if is_stdin(options.paths):
            return _stdin(options)
    from mpslint.folders.discovery import targets
    from mpslint.output import SHOW_FIXES

    finder = find_settings(options)
    if options.helper_module is not None:
        from mpslint.project.project import require_helper_folder

        require_helper_folder(finder.for_folder("."))
    notes: list[str] = []
    found = list(targets(options.paths or ["."], finder, notes.append))
    settings = {target.path: target.settings for target in found}
    results = check_files(options, found, with_fixes=options.output_format in SHOW_FIXES)
    if not results:
        from mpslint.settings.selectors import require_known

        require_known(finder.for_folder("."))
    for note in notes:
        warn(note)
    if options.write_baseline:
        from mpslint.cli.legacy import write_baselines

        return write_baselines(options, finder, results, settings)
    plain = options.diff_base is None and not options.add_noqa
    if plain and all(one.baseline is None for one in settings.values()):
        return report(options, results, {})
    from mpslint.cli.legacy import add_noqa, narrowed, tell_gone
    from mpslint.running.reported import Reported

    reported = Reported(finder, options.diff_base)
    counting = narrowed(reported, results, settings)
    if options.add_noqa:
        return add_noqa(options, counting, settings)
    code = report(options, counting, {})
    tell_gone(reported, options.paths or ["."], options.quiet)
    return code


def _stdin(options: argparse.Namespace) -> int:
    from mpslint.checking.checking import check_bytes, guarded
    from mpslint.errors import BadSource
    from mpslint.folders.discovery import left_out
    from mpslint.running.reported import Reported
    from mpslint.sources.opening import text_on_disk

    name = options.stdin_filename or "-"
    finder = find_settings(options)
    settings = finder.for_file(name)
    data = sys.stdin.buffer.read()
    if left_out(name, settings):
        return report(options, [], {})
    result = guarded(name, lambda: check_bytes(name, data, settings, named=True, around={}))
    result, _ = Reported(finder, options.diff_base).narrow(result, settings, data)
    try:
        text = text_on_disk(name, data)
    except BadSource:
        text = ""  # the result says why
    return report(options, [result], {name: text})
