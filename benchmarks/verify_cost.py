"""What `mpslint verify` takes beside a plain run of the same program.

    python benchmarks/verify_cost.py [--only WORD] [--most N] [--round NAME]

For right ports of fixtures/verify/rounds: seconds of the start of torch, of a plain run of the port
on this machine, and of the verification, with the negative control; as time on the clock and as
time of the processors. The last column is what is asked for: 3 plain runs and one start of torch.
On a machine that does something else only the processors' time means anything.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROUNDS = Path(__file__).resolve().parents[1] / "fixtures" / "verify" / "rounds"


class Cost(NamedTuple):
    clock: float
    processors: float


def cost(*command: str, folder: Path) -> Cost:
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(time.monotonic() - began, spent)


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--only", default="", help="ports whose path holds this")
    options.add_argument("--most", type=int, default=40)
    options.add_argument("--round", default="two")
    given = options.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    found = sorted((ROUNDS / given.round).glob("*/right_*.py"))
    ports = [port for port in found if given.only in str(port)][: given.most]
    start = cost(sys.executable, "-c", "import torch", folder=ROUNDS)
    print(f"start of torch: {start.clock:.1f} s by the clock, {start.processors:.1f} of processors")
    print(f"{'port':<40} {'plain':>13} {'verify':>13} {'3 plain + start':>16}")
    within = 0
    for port in ports:
        with tempfile.TemporaryDirectory() as folder:
            here = Path(folder)
            for name in (port.name, "original.py"):
                shutil.copy(port.parent / name, here)
            plain = cost(sys.executable, port.name, folder=here)
        with tempfile.TemporaryDirectory() as folder:
            here = Path(folder)
            for name in (port.name, "original.py"):
                shutil.copy(port.parent / name, here)
            verify = [sys.executable, "-m", "mpslint", "verify", port.name]
            whole = cost(*verify, "--original", "original.py", folder=here)
        allowed = Cost(*(3 * a + b for a, b in zip(plain, start, strict=True)))
        within += whole.clock <= allowed.clock
        shown = [f"{one.clock:5.1f} ({one.processors:4.1f})" for one in (plain, whole, allowed)]
        print(f"{port.parent.name + '/' + port.stem:<40} " + " ".join(f"{s:>13}" for s in shown))
    print(f"{within} of {len(ports)} within, by the clock, on {os.cpu_count()} processors")


if __name__ == "__main__":
    main()
