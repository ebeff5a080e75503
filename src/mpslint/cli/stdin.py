"""`-` as a path: check or fix what stdin holds."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from mpslint.cli import ERROR, FINDINGS, OK

if TYPE_CHECKING:
    import argparse


def fix_stdin(options: argparse.Namespace) -> int:
    """Write the fixed text (or its diff) to stdout; what is left goes to stderr."""
    from mpslint.checking import check_bytes, guarded
    from mpslint.cli.options import find_settings
    from mpslint.fixing import plan, unified_diff

    name = options.stdin_filename or "-"
    data = sys.stdin.buffer.read()
    settings = find_settings(options).for_file(name)
    checked = guarded(name, lambda: check_bytes(name, data, settings, named=True, around={}))
    planned = checked.error or plan(name, data, settings, unsafe=options.unsafe_fixes)
    if isinstance(planned, str) or planned.result.error:
        reason = planned if isinstance(planned, str) else planned.result.error
        print(f"error: {reason}", file=sys.stderr)
        if not options.diff:
            _emit(data)
        return ERROR
    if options.diff:
        sys.stdout.writelines(unified_diff(planned, name))
        return FINDINGS if planned.changed and not options.exit_zero else OK
    _emit(planned.after)
    for finding in planned.result.remaining:
        place = f"{name}:{finding.place}"
        print(f"{place}: {finding.code} {finding.message}", file=sys.stderr)
    return FINDINGS if planned.result.remaining and not options.exit_zero else OK


def _emit(data: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
