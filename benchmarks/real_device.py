"""The right programs on the real accelerator of this machine: original and patched, side by side.

    python benchmarks/real_device.py [--only WORD] [--most N] [--jobs N]

Needs a Python whose torch can use a GPU. Prints a line per program; exit code 1 when a patched
program fails there.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mpslint.verify import Report, Request, verify

PROGRAMS = Path(__file__).resolve().parents[1] / "fixtures" / "verify" / "programs"


def check(folder: Path) -> Report:
    """Original and patched program on the plain CPU and on every real accelerator."""
    script = str(folder / "original.py")
    request = Request(
        script,
        devices=("cpu",),
        patched={script: (folder / "patched.py").read_bytes()},
        root=str(folder),
        real=True,
        negative_control=False,
    )
    return verify(request)


def tell(name: str, report: Report) -> int:
    """Print what happened on real devices; the number of failures there."""
    real = [run for run in report.runs if run.kind == "real" and run.device != "cpu"]
    for run in real:
        print(f"{name:28} {run.name:10} {run.verdict:13} {run.seconds:4.0f} s  {run.reason}")
    if not real:
        print(f"{name:28} {report.verdict}: {report.reason} {' '.join(report.notes)}")
    sys.stdout.flush()
    return sum(run.verdict == "fail" for run in real)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="a part of the program's name")
    parser.add_argument("--most", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=1, help="programs at a time")
    options = parser.parse_args()
    chosen = [f for f in sorted(PROGRAMS.iterdir()) if options.only in f.name][: options.most]
    with ThreadPoolExecutor(options.jobs) as pool:
        reports = pool.map(check, chosen)
        failed = sum(tell(f.name, report) for f, report in zip(chosen, reports, strict=True))
    print(f"{failed} failures on real devices, {len(chosen)} programs")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
