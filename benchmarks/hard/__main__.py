"""How hard mpslint is to break, tried for real and counted: `make hard`, or

    python benchmarks/hard [--corpus FOLDER]... [--python PYTHON]... [--only PART]... [--runs N]
    python benchmarks/hard --share 1/4 --keep FILE; ...; python benchmarks/hard --table FILE

Nothing outside the repository is needed: the installed packages, and the running Python's standard
library with its tests, are always there. FOLDERs (also of the variable HARD_CORPORA, parted as
PATH is) add Python files, PYTHONs (HARD_PYTHONS) interpreters to run in. `--share 1/4` takes every
fourth file, killed run and front end (the shares 1/4 to 4/4 are the whole); `--keep` adds what was
counted to a file, and `--table` shows all that such files hold as one table. The exit code is 1
where anything went wrong.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import faults
import hostile
import many_files
from kept import keep, kept, state
from told import Row, Share, table

PARTS = ("files", "faults", "hostile")


def main() -> int:
    options = _options()
    if options.table:
        told = [entry for path in options.table for entry in kept(path)]
        rows = [row for _, row in told]
        states = {state for state, _ in told}
        print(table(rows))
        if len(states) > 1:
            print(f"\nThe rows are of {len(states)} states of the sources.")
    else:
        rows = list(_campaign(options))
        print(table(rows))
    return int(any(row.wrong for row in rows))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    given = {
        name: [part for part in os.environ.get(name, "").split(os.pathsep) if part]
        for name in ("HARD_CORPORA", "HARD_PYTHONS")
    }
    parser.add_argument("--corpus", action="append", default=given["HARD_CORPORA"])
    parser.add_argument("--python", action="append", default=given["HARD_PYTHONS"])
    parser.add_argument("--only", action="append", choices=PARTS)
    parser.add_argument("--runs", type=int, default=200, help="runs of `fix` that are killed")
    parser.add_argument("--seed", type=int, default=15, help="of the moments and the damages")
    parser.add_argument("--share", type=Share.parse, default=Share(), metavar="N/M")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="add the rows to this file")
    parser.add_argument("--table", type=Path, action="append", metavar="FILE", help="only show it")
    return parser.parse_args()


def _campaign(options: argparse.Namespace) -> Iterator[Row]:
    folders = [*many_files.standard_folders(), *map(os.path.abspath, options.corpus)]
    share, tried = options.share, state()
    with tempfile.TemporaryDirectory(prefix="hard-") as folder:
        work = Path(folder)
        parts = {
            "files": lambda: many_files.rows(folders, options.python, work, share),
            "faults": lambda: faults.rows(work, options.runs, options.seed, share),
            "hostile": lambda: hostile.rows(work, share),
        }
        for name in options.only or PARTS:
            for row in _measured(parts[name]()):
                print(f"{row.what}: {len(row.wrong)} of {row.tried}", file=sys.stderr)
                if options.keep:
                    keep(options.keep, tried, row)
                yield row


def _measured(rows: Iterable[Row]) -> Iterator[Row]:
    before = sum(os.times()[:4])
    for row in rows:
        now = sum(os.times()[:4])
        yield row._replace(cpu=now - before)
        before = now


if __name__ == "__main__":
    sys.exit(main())
