"""`-` as a path: check or fix what stdin holds."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from mpslint.cli import ERROR, FINDINGS, OK, complain
from mpslint.cli.usage import Usage

if TYPE_CHECKING:
    import argparse


def fix_stdin(options: argparse.Namespace) -> int:
    """Write the fixed text (or its diff) to stdout; what is left goes to stderr."""
    from mpslint.basics.printable import patch_name, printable
    from mpslint.checking.checking import check_bytes, guarded
    from mpslint.cli.options import find_settings, on_terminal
    from mpslint.fixing.fixing import plan, unified_diff
    from mpslint.folders.discovery import left_out
    from mpslint.running.reported import Reported

    name = options.stdin_filename or "-"
    data = sys.stdin.buffer.read()
    finder = find_settings(options)
    settings = finder.for_file(name)
    if left_out(name, settings):
        if not options.diff:
            _emit(data)
        return OK
    checked = guarded(name, lambda: check_bytes(name, data, settings, named=True, around={}))
    _, hidden = Reported(finder, options.diff_base).narrow(checked, settings, data)
    planned = checked.error or plan(
        name, data, settings, unsafe=options.unsafe_fixes, hidden=hidden
    )
    if isinstance(planned, str) or planned.result.error:
        reason = planned if isinstance(planned, str) else planned.result.error
        complain(str(reason))
        if not options.diff:
            _emit(data)
        return ERROR
    if options.diff:
        sys.stdout.writelines(on_terminal(unified_diff(planned, patch_name(name))))
        return FINDINGS if planned.changed and not options.exit_zero else OK
    _emit(planned.after)
    for finding in planned.result.remaining:
        place = f"{name}:{finding.place}"
        print(printable(f"{place}: {finding.code} {finding.message}"), file=sys.stderr)
    return FINDINGS if planned.result.remaining and not options.exit_zero else OK


def is_stdin(paths: list[str]) -> bool:
    """Whether stdin is meant. Raises `Usage` where files are as well."""
    if "-" in paths and len(paths) > 1:
        raise Usage("`-` (stdin) and files cannot be given together; run mpslint once for each")
    return paths == ["-"]


def _emit(data: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
