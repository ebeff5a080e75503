"""Seeded faults: no broken program may pass.

    python benchmarks/mutants.py [--each N] [--only WORD] [--jobs N]

Breaks the ported programs of fixtures/verify/programs in the ways of fixtures/verify/mutations.py,
verifies each against its original on simulated mps (and on simulated cuda, where the two must make
the same device calls), and looks whether the reason speaks of the fault. Prints a line per program
and a table per kind of fault; exit code 1 when a broken program passed or was rejected for another
reason. A fault that shows after the third optimizer step is looked for in the whole run, the others
in the first three steps, which is enough for them. Two idle cores need about 15 minutes for all of
them with --jobs 2.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from mpslint.verify import Report, Request, verify

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "verify"
PROGRAMS = FIXTURES / "programs"


class Broken(NamedTuple):
    """A program with a fault; `expected` is a pattern of the reasons that name it."""

    program: str
    fault: str
    text: str
    expected: str


class Row(NamedTuple):
    broken: Broken
    verdict: str
    reason: str
    seconds: float

    @property
    def named(self) -> bool:
        return re.search(self.broken.expected, self.reason) is not None


def mutations() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mutations", FIXTURES / "mutations.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def broken_programs(each: int, only: str) -> list[Broken]:
    module = mutations()
    expected = {fault.__name__: pattern for fault, pattern in module.EXPECTED.items()}
    folders = sorted(PROGRAMS.iterdir())
    texts = {folder.name: (folder / "patched.py").read_text() for folder in folders}
    chosen = module.chosen(texts, each)
    found = [Broken(name, fault, text, expected[fault]) for name, fault, text in chosen]
    return [broken for broken in found if only in broken.fault or only in broken.program]


def check(broken: Broken) -> Row:
    """The verdict without the plain CPU and without the control, which could only add to it."""
    script = str(PROGRAMS / broken.program / "original.py")
    request = Request(
        script,
        devices=("mps",),
        patched={script: broken.text.encode()},
        root=str(PROGRAMS / broken.program),
        steps=0 if broken.fault == "fewer_steps_on_mps" else 3,
        timeout=45.0,
        negative_control=False,
    )
    began = time.monotonic()
    report = verify(request)
    return Row(broken, report.verdict, _reason(report), time.monotonic() - began)


def _reason(report: Report) -> str:
    """Why it did not pass on mps; where it did there, why not on cuda."""
    said = {run.device: run.reason for run in report.runs if run.verdict != "pass"}
    device = "mps" if "mps" in said else next(iter(said), "")
    return f"{device}: {said[device]}" if device else report.reason


def line(row: Row) -> str:
    mark = "PASS" if row.verdict == "pass" else "    " if row.named else "?   "
    what = f"{row.broken.fault}: {row.broken.program}"
    return f"{mark} {what:54} {row.verdict:13} {row.seconds:4.0f} s  {row.reason}"


def table(rows: list[Row]) -> str:
    head = f"{'fault':30} {'fail':>6} {'inconclusive':>13} {'pass':>6} {'other reason':>13}"
    lines = [head]
    for fault in dict.fromkeys(row.broken.fault for row in rows):
        mine = [row for row in rows if row.broken.fault == fault]
        verdicts = Counter(row.verdict for row in mine)
        other = sum(not row.named for row in mine)
        counts = f"{verdicts['fail']:6} {verdicts['inconclusive']:13} {verdicts['pass']:6}"
        lines.append(f"{fault:30} {counts} {other:13}")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=4, help="programs per kind of fault")
    parser.add_argument("--only", default="", help="a part of the program's or the fault's name")
    parser.add_argument("--jobs", type=int, default=1, help="programs at a time")
    options = parser.parse_args()
    rows = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for row in pool.map(check, broken_programs(options.each, options.only)):
            rows.append(row)
            print(line(row), flush=True)
    print(table(rows))
    noticed = sum(row.verdict in ("fail", "inconclusive") for row in rows)
    named = sum(row.named for row in rows)
    print(f"broken programs: {noticed} of {len(rows)} do not pass, {named} for the seeded reason")
    return 0 if noticed == named == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
