"""Seeded faults: every right program must pass, no broken one may.

    python benchmarks/mutants.py [--each N] [--only WORD] [--skip-programs | --skip-mutants]

Prints a line per verification and a table per kind of fault; exit code 1 when a mutant passed or a
right program did not. The whole takes about half an hour on two idle cores.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from collections import Counter
from pathlib import Path
from types import ModuleType

from mpslint.verify import Report, Request, verify

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "verify"
PROGRAMS = FIXTURES / "programs"


def mutations() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mutations", FIXTURES / "mutations.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def check(name: str, patched: str, quick: bool) -> Report:
    """Verify one program against its original; `quick` leaves the plain CPU and the control out."""
    script = str(PROGRAMS / name / "original.py")
    request = Request(
        script,
        devices=("mps",) if quick else ("cpu", "mps"),
        original=script,
        patched={script: patched.encode()},
        root=str(PROGRAMS / name),
        timeout=45.0 if quick else 120.0,
        negative_control=not quick,
    )
    return verify(request)


def tell(what: str, report: Report, began: float, good: bool) -> None:
    mark = "    " if good else "BAD "
    seconds = time.monotonic() - began
    print(f"{mark}{what:58} {report.verdict:13} {seconds:5.0f} s  {report.reason}", flush=True)


def right_programs(programs: dict[str, str], only: str) -> int:
    wrong = total = 0
    for name, text in sorted(programs.items()):
        if only not in name:
            continue
        began = time.monotonic()
        report = check(name, text, quick=False)
        total += 1
        wrong += report.verdict != "pass"
        tell(name, report, began, report.verdict == "pass")
    print(f"right programs: {total - wrong} of {total} pass")
    return wrong


def broken_programs(programs: dict[str, str], each: int, only: str) -> int:
    table: dict[str, Counter[str]] = {}
    for name, kind, text in mutations().chosen(programs, each):
        if only not in kind and only not in name:
            continue
        began = time.monotonic()
        report = check(name, text, quick=True)
        table.setdefault(kind, Counter())[report.verdict] += 1
        tell(f"{kind}: {name}", report, began, report.verdict != "pass")
    print(f"{'fault':34} {'fail':>6} {'inconclusive':>13} {'pass':>6}")
    for kind, verdicts in table.items():
        print(f"{kind:34} {verdicts['fail']:6} {verdicts['inconclusive']:13} {verdicts['pass']:6}")
    passed = sum(verdicts["pass"] for verdicts in table.values())
    total = sum(sum(verdicts.values()) for verdicts in table.values())
    print(f"broken programs: {total - passed} of {total} noticed")
    return passed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=4, help="programs per kind of fault")
    parser.add_argument("--only", default="", help="a part of the program's or the fault's name")
    parser.add_argument("--skip-programs", action="store_true")
    parser.add_argument("--skip-mutants", action="store_true")
    options = parser.parse_args()
    folders = sorted(PROGRAMS.iterdir())
    programs = {folder.name: (folder / "patched.py").read_text() for folder in folders}
    bad = 0
    if not options.skip_programs:
        bad += right_programs(programs, options.only)
    if not options.skip_mutants:
        bad += broken_programs(programs, options.each, options.only)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
