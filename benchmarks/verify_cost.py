"""What `mpslint verify` takes beside a plain run of the same program.

    python benchmarks/verify_cost.py [--only WORD] [--most 40] [--steps N]

For programs of fixtures/verify: the start of torch, a plain run of the port on this machine, and
the verification with its negative control, one after the other, so that they share the minute; as
time on the clock and as time of the processors. The limit that is asked for is 3 plain runs and one
start of torch. On a machine that does something else only the processors' time means anything, and
what runs at a time is bound with `taskset`. A GPU is left alone.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "verify"
LIMIT = 3
_CACHES = shutil.ignore_patterns("__pycache__")


class Cost(NamedTuple):
    clock: float
    processors: float


class Measured(NamedTuple):
    name: str
    start: Cost
    plain: Cost
    verify: Cost
    verdict: str

    def of_plain(self, which: int) -> float:
        return self.verify[which] / self.plain[which]

    def of_limit(self, which: int) -> float:
        return self.verify[which] / (LIMIT * self.plain[which] + self.start[which])


def cost(*command: str, folder: Path) -> tuple[Cost, str]:
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(time.monotonic() - began, spent), done.stdout


def ports() -> Iterator[tuple[str, Path, Path]]:
    """Name, original and right port, of all programs of one file."""
    for folder in sorted((FIXTURES / "programs").iterdir()):
        yield folder.name, folder / "original.py", folder / "patched.py"
    for port in sorted((FIXTURES / "rounds").glob("*/*/right_*.py")):
        yield f"{port.parent.name}/{port.stem}", port.parent / "original.py", port


def measured(name: str, original: Path, port: Path, more: list[str]) -> Measured:
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        for folder in (one, other):
            # What stands beside a program may be a module of it.
            shutil.copytree(port.parent, folder, ignore=_CACHES, dirs_exist_ok=True)
            shutil.copy(original, Path(folder) / "original.py")
            shutil.copy(port, Path(folder) / "port.py")
        python = sys.executable
        start, _ = cost(python, "-c", "import torch", folder=Path(one))
        plain, _ = cost(python, "port.py", folder=Path(one))
        verify = [python, "-m", "mpslint", "verify", "port.py", "--original", "original.py", *more]
        whole, said = cost(*verify, folder=Path(other))
    first = next((line for line in said.splitlines() if "port.py: " in line), ": nothing")
    return Measured(name, start, plain, whole, first.split(": ", 1)[1][:60])


def summary(rows: list[Measured]) -> Iterator[str]:
    yield "| | verify / plain run, median | worst | verify / limit, median | worst | within |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for which, what in enumerate(("time on the clock", "time of the processors")):
        plain = [row.of_plain(which) for row in rows]
        limit = [row.of_limit(which) for row in rows]
        parts = [
            f"{statistics.median(plain):.2f}",
            f"{max(plain):.2f}",
            f"{statistics.median(limit):.2f}",
            f"{max(limit):.2f}",
            f"{sum(one <= 1 for one in limit)} of {len(rows)}",
        ]
        yield f"| {what} | {' | '.join(parts)} |"


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--only", default="", help="programs whose name holds this")
    options.add_argument("--most", type=int, default=40)
    options.add_argument("--steps", type=int, default=0, help="as for verify")
    given = options.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    found = [port for port in ports() if given.only in port[0]]
    chosen = found[:: max(1, len(found) // given.most)][: given.most]
    more = ["--simulate", *(["--steps", str(given.steps)] if given.steps else [])]
    print("| program | start of torch | plain run | verify | of plain | of limit | verdict |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | --- |")
    rows = []
    for port in chosen:
        row = measured(*port, more)
        rows.append(row)
        times = [f"{c.clock:.1f} ({c.processors:.1f})" for c in (row.start, row.plain, row.verify)]
        shares = [f"{f(0):.2f} ({f(1):.2f})" for f in (row.of_plain, row.of_limit)]
        print(f"| `{row.name}` | {' | '.join([*times, *shares])} | {row.verdict} |", flush=True)
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
    print(
        f"\nOn {processors} processors, {platform.system()}, Python {platform.python_version()}:\n"
    )
    print(*summary(rows), sep="\n")


if __name__ == "__main__":
    main()
