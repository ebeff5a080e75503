"""Whether the shortcuts change a finding: `python benchmarks/equal_findings.py FOLDER`.

Compares a normal run (screen, processes, cache written and then read) with one that takes no
shortcut: every rule is run on every file that speaks of torch and parses, in one process, no cache.
Prints each difference; the exit code is 1 when there is one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

Found = dict[str, list[tuple[object, ...]]]
"""Path -> (cell, row, column, end row, end column, code, message) of each finding."""


def with_shortcuts(folder: Path, here: str, *options: str) -> Found:
    """What the command prints, run in the folder `here`, below which its cache lies."""
    command = [sys.executable, "-m", "mpslint", "check", "--isolated", "--exit-zero"]
    more = ["--output-format", "json", *options, str(folder)]
    env = {**os.environ, "MPSLINT_CACHE_DIR": os.path.join(here, "cache")}
    ran = subprocess.run(
        [*command, *more], cwd=here, env=env, capture_output=True, text=True, check=False
    )
    if not ran.stdout:
        sys.exit(f"`mpslint check` printed nothing: {ran.stderr.strip()[-500:]}")
    found: Found = {}
    for row in json.loads(ran.stdout):
        found.setdefault(row["filename"], []).append(
            (
                row.get("cell"),
                *(
                    row[place][part]
                    for place in ("location", "end_location")
                    for part in row[place]
                ),
                row["code"],
                row["message"],
            )
        )
    return found


def without_shortcuts(folder: Path) -> Found:
    """All rules on all files, whatever words stand in them."""
    from mpslint.checking.linter import lint
    from mpslint.errors import BadSource
    from mpslint.folders.discovery import targets
    from mpslint.project.neighbours import Neighbours
    from mpslint.settings.file import SettingsFinder
    from mpslint.settings.settings import Settings
    from mpslint.sources.opening import located, open_source
    from mpslint.sources.reading import read_bytes
    from mpslint.sources.screening import speaks_of_torch

    found: Found = {}
    around: dict[Settings, Neighbours] = {}
    for target in targets([str(folder)], SettingsFinder(isolated=True), print):
        try:
            source = open_source(target.path, read_bytes(target.path))
            if speaks_of_torch(source.data):
                neighbours = around.setdefault(target.settings, Neighbours(target.settings))
                raw = lint(source, target.settings, elsewhere=neighbours, screened=False)
                for one in located(source, raw):
                    place = (one.row, one.column, one.end_row, one.end_column)
                    entry = (one.cell, *place, one.code, one.message)
                    found.setdefault(os.path.abspath(target.path), []).append(entry)
        except BadSource:
            continue
    return found


def differences(left: Found, right: Found) -> Iterator[str]:
    for path in sorted({*left, *right}):
        for sign, ours, theirs in (("-", left, right), ("+", right, left)):
            for finding in Counter(ours.get(path, [])) - Counter(theirs.get(path, [])):
                yield f"{sign} {path} {finding}"


def main(folder: Path) -> int:
    plain = without_shortcuts(folder)
    total = sum(map(len, plain.values()))
    print(f"without shortcuts: {total} findings in {len(plain)} files")
    code = 0
    with tempfile.TemporaryDirectory() as here:
        for name, options in (("processes", ["--jobs", "2"]), ("cache", ["--jobs", "1"])):
            shown = list(differences(plain, with_shortcuts(folder, here, *options)))
            print("\n".join(shown) if shown else f"screen, {name}: no difference")
            code = code or bool(shown)
    return int(code)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
