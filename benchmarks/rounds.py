"""Rounds of ports that were written without a look at what the verifier makes of them.

    python benchmarks/rounds.py [--only WORD] [--round NAME] [--half first]

A folder of fixtures/verify/rounds/NAME holds an original and its ports, `right_*.py` and
`wrong_*.py`. Each is verified as `mpslint verify PORT --original original.py` does it, but for the
negative control. Prints a line per port and the two figures of the round: wrong ports that are
called pass, right ones that are not. Of the larger rounds a half, drawn by lot, was run before
anything was mended for it, and the other half after: `--half first`, `--half second`. A port takes
10 to 40 seconds of an idle core.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from mpslint.verify import Report, Request, verify

ROUNDS = Path(__file__).resolve().parents[1] / "fixtures" / "verify" / "rounds"


class Row(NamedTuple):
    name: str
    kind: str  # "right" or "wrong"
    report: Report


def ports_of(name: str, half: str = "") -> list[Path]:
    """The ports of a round, or of one half of it: of each kind as many in either."""
    found = []
    for kind in ("right", "wrong"):
        ports = sorted((ROUNDS / name).glob(f"*/{kind}_*.py"))
        drawn = set(random.Random(f"{name} {kind}").sample(ports, len(ports) // 2))
        halves = {"": ports, "first": drawn, "second": set(ports) - drawn}
        found += halves[half]
    return sorted(found)


def judge(port: Path) -> Row:
    """In a copy of the program's folder: a project of its own, and not all of this repository."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve() / port.parent.name
        shutil.copytree(port.parent, folder, ignore=shutil.ignore_patterns("__pycache__"))
        original = str(folder / "original.py")
        request = Request(str(folder / port.name), original=original, negative_control=False)
        report = verify(request)
    return Row(f"{port.parent.name}/{port.stem}", port.stem.partition("_")[0], report)


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--only", default="", help="ports whose path holds this")
    options.add_argument("--round", default="one")
    options.add_argument("--half", choices=["", "first", "second"], default="")
    options.add_argument("--jobs", type=int, default=1)
    given = options.parse_args()
    ports = [port for port in ports_of(given.round, given.half) if given.only in str(port)]
    counted = {"right": [0, 0], "wrong": [0, 0]}
    with ThreadPoolExecutor(given.jobs) as pool:
        for row in pool.map(judge, ports):
            passed = row.report.verdict == "pass"
            counted[row.kind][0] += 1
            counted[row.kind][1] += passed
            shown = f"{row.report.verdict:<12} {row.report.seconds:4.0f} s  {row.report.reason}"
            print(f"{row.name:<42} {shown}", flush=True)
    (right, passed), (wrong, missed) = counted["right"], counted["wrong"]
    print(f"\n{missed} of {wrong} wrong ports are called pass; {passed} of {right} right ones are")
    return int(missed > 0 or passed < right)


if __name__ == "__main__":
    sys.exit(main())
