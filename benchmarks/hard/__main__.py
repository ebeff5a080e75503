"""How hard mpslint is to break, tried for real and counted: `make hard`, or

    python benchmarks/hard [--corpus FOLDER]... [--python PYTHON]... [--only PART]... [--runs N]

Nothing outside the repository is needed: the installed packages, and the running Python's standard
library with its tests, are always there. FOLDERs (also of the variable HARD_CORPORA, parted as
PATH is) add Python files, PYTHONs (HARD_PYTHONS) interpreters to run in. The exit code is 1 where
anything went wrong.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import faults
import hostile
import many_files
from told import table


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    given = {
        name: [part for part in os.environ.get(name, "").split(os.pathsep) if part]
        for name in ("HARD_CORPORA", "HARD_PYTHONS")
    }
    parser.add_argument("--corpus", action="append", default=given["HARD_CORPORA"])
    parser.add_argument("--python", action="append", default=given["HARD_PYTHONS"])
    parser.add_argument("--only", action="append", choices=("files", "faults", "hostile"))
    parser.add_argument("--runs", type=int, default=200, help="runs of `fix` that are killed")
    parser.add_argument("--seed", type=int, default=15, help="of the moments and the damages")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(prefix="hard-") as folder:
        work = Path(folder)
        folders = [*many_files.standard_folders(), *map(os.path.abspath, options.corpus)]
        parts = {
            "files": lambda: many_files.rows(folders, options.python, work),
            "faults": lambda: faults.rows(work, options.runs, options.seed),
            "hostile": lambda: hostile.rows(work),
        }
        for name, part in parts.items():
            if options.only is None or name in options.only:
                for row in part():
                    print(f"{row.what}: {len(row.wrong)} of {row.tried}", file=sys.stderr)
                    rows.append(row)
    print(table(rows))
    return int(any(row.wrong for row in rows))


if __name__ == "__main__":
    sys.exit(main())
