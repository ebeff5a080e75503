"""Checks the files named in a list, one after another, in whatever Python runs this.

    python one_by_one.py LIST RESULTS SECONDS

A line of RESULTS is the JSON of [path, CPU seconds, error or null, findings]; a file that takes
longer than SECONDS is given up. The name of each file is written before it is looked at, so that
the one which ends this process is known.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from typing import TYPE_CHECKING

from mpslint.checking.checking import check_bytes, guarded
from mpslint.findings.results import FileResult
from mpslint.settings.settings import Settings
from mpslint.sources.reading import read_bytes

if TYPE_CHECKING:
    from mpslint.checking.checking import Around

EVERY_RULE = Settings(select=("ALL",))


class TooLong(BaseException):
    """Not one of the errors that a check turns into a line."""


def give_up(*_: object) -> None:
    raise TooLong


def checked(path: str, around: Around, limit: float) -> FileResult:
    signal.setitimer(signal.ITIMER_PROF, limit)
    try:
        return guarded(
            path,
            lambda: check_bytes(path, read_bytes(path), EVERY_RULE, named=True, around=around),
        )
    except TooLong:
        return FileResult(path, error=f"{path}: took longer than {limit:g} s")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def main(listing: str, results: str, limit: float) -> None:
    signal.signal(signal.SIGPROF, give_up)
    around: Around = {}
    with open(listing, encoding="utf-8", errors="surrogateescape") as names:
        paths = names.read().split("\0")
    with open(results, "a", encoding="utf-8", buffering=1) as out:
        for path in filter(None, paths):
            out.write(json.dumps(path) + "\n")
            before = time.process_time()
            result = checked(path, around, limit)
            taken = time.process_time() - before
            found = [
                [one.cell, one.row, one.column, one.end_row, one.end_column, one.code, one.message]
                for one in result.findings
            ]
            out.write(json.dumps([path, taken, result.error, found]) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
