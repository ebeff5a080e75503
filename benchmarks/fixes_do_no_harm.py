"""Whether fixed programs still run, on a CPU, a GPU of CUDA and a Mac's.

    python benchmarks/fixes_do_no_harm.py [--programs 600] [--seed 1000] [--unsafe] [--show 3]

The programs are generated (`tests/worlds/programs.py`); each that a fix changes runs before and
after it on each machine, the GPUs simulated. The table counts programs; below it stand the first
that the fix has harmed: they ran, and fixed they raise or print something else.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from worlds.fixed_programs import MACHINES, Fixed, fixed_programs


def table(tried: list[Fixed]) -> str:
    lines = [
        "| machine | changed | ran before | harmed | raised before, run now |",
        "| --- | --: | --: | --: | --: |",
    ]
    for machine in MACHINES:
        there = [one for one in tried if one.machine == machine]
        ran, harmed, cured = (
            sum(getattr(one, what) for one in there) for what in ("ran_before", "harmed", "cured")
        )
        lines.append(f"| {machine} | {len(there)} | {ran} | {harmed} | {cured} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--unsafe", action="store_true")
    parser.add_argument("--show", type=int, default=3)
    asked = parser.parse_args()
    seeds = range(asked.seed, asked.seed + asked.programs)
    with tempfile.TemporaryDirectory() as folder:
        tried = fixed_programs(seeds, Path(folder), unsafe=asked.unsafe)
    print(table(tried))
    harmed = [one for one in tried if one.harmed]
    for one in harmed[: asked.show]:
        print(f"\n{one}")
    return 1 if harmed else 0


if __name__ == "__main__":
    sys.exit(main())
