"""Whether the analysis and the simulated Mac agree on generated programs.

    python benchmarks/simulator_agrees.py [--programs 600] [--seed 1000] [--show 3]

Each program runs on the simulated CUDA, where it must run through, and on the simulated Mac; what
the default rules say of it is beside how it ended there. The table counts programs; below it stand
the first of each kind of difference. The grammar is `tests/worlds/programs.py`.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from worlds.programs import Compared, compared, written

KINDS = ("missed", "unforeseen", "false_alarm")


def kind_of(one: Compared) -> str:
    """How a program ended, in few words: the type and the beginning of its message."""
    if one.raised is None:
        return "ran through"
    message = re.sub(r"\d+", "N", one.raised.message)
    return f"{one.raised.type}: {' '.join(message.split()[:6])}"


def table(ran: list[Compared]) -> str:
    """Programs by how they ended on the Mac, and by what was said."""
    rows: dict[str, Counter[str]] = {}
    for one in ran:
        row = rows.setdefault(kind_of(one), Counter())
        row["programs"] += 1
        row["said"] += bool(one.breaks)
        row["only ignores"] += not one.breaks and bool(one.ignores)
        for kind in KINDS:
            row[kind] += getattr(one, kind)
        row["known to the analysis"] += bool(
            one.unforeseen and one.raised and any(at <= one.raised.called for at in one.wide)
        )
    names = ["programs", "said", "only ignores", *KINDS, "known to the analysis"]
    lines = [
        f"| on the simulated Mac | {' | '.join(name.replace('_', ' ') for name in names)} |",
        f"| --- |{' --: |' * len(names)}",
    ]
    for kind, row in sorted(rows.items(), key=lambda item: -item[1]["programs"]):
        lines.append(f"| {kind} | {' | '.join(str(row[name]) for name in names)} |")
    total = Counter[str]()
    for row in rows.values():
        total.update(row)
    lines.append(f"| **all** | {' | '.join(str(total[name]) for name in names)} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--programs", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1000, help="seed of the first program")
    parser.add_argument("--show", type=int, default=3, help="so many of each kind of difference")
    arguments = parser.parse_args()
    seeds = range(arguments.seed, arguments.seed + arguments.programs)
    programs = {f"program_{seed}": written(seed) for seed in seeds}
    with tempfile.TemporaryDirectory() as folder:
        ran = compared(programs, Path(folder))
    print(table(ran))
    for kind in KINDS:
        differing = [one for one in ran if getattr(one, kind)]
        for one in differing[: arguments.show]:
            print(f"\n## {kind.replace('_', ' ')}: {one}")
    return int(any(getattr(one, kind) for one in ran for kind in KINDS))


if __name__ == "__main__":
    sys.exit(main())
