"""The right programs on the real accelerator of this machine: original and patched, side by side.

    python benchmarks/real_device.py [--only WORD] [--most N]

Needs a Python whose torch can use a GPU. Prints a line per program; exit code 1 when a patched
program fails there.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from mpslint.verify import Request, verify

PROGRAMS = Path(__file__).resolve().parents[1] / "fixtures" / "verify" / "programs"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="a part of the program's name")
    parser.add_argument("--most", type=int, default=1000)
    options = parser.parse_args()
    failed = total = 0
    for folder in [f for f in sorted(PROGRAMS.iterdir()) if options.only in f.name][: options.most]:
        script = str(folder / "original.py")
        request = Request(
            script,
            devices=("cpu",),
            patched={script: (folder / "patched.py").read_bytes()},
            root=str(folder),
            real=True,
            negative_control=False,
        )
        began = time.monotonic()
        report = verify(request)
        total += 1
        for run in report.runs:
            if run.device == "cpu":
                continue
            failed += run.verdict == "fail"
            seconds = time.monotonic() - began
            print(f"{folder.name:28} {run.name:10} {run.verdict:13} {seconds:4.0f} s  {run.reason}")
            sys.stdout.flush()
        if not any(run.device != "cpu" for run in report.runs):
            print(f"{folder.name:28} {report.verdict}: {report.reason} {' '.join(report.notes)}")
    print(f"{failed} of {total} failed on a real device")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
