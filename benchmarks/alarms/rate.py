"""The rate of false alarms, from the judged list: `python benchmarks/alarms/rate.py [judged.csv]`.

Over all, each finding counts once; the share of a rule is over its own findings.
"""

from __future__ import annotations

import csv
import sys
from collections import Counter
from pathlib import Path


def main(path: Path) -> None:
    total: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["verdict"] not in ("right", "wrong"):
                sys.exit(f"{path}: no verdict for {row['repository']} {row['file']}:{row['line']}")
            total[row["rule"]] += 1
            wrong[row["rule"]] += row["verdict"] == "wrong"
    print("| rule | judged | wrong | share |")
    print("| --- | ---: | ---: | ---: |")
    for rule in sorted(total):
        print(f"| {rule} | {total[rule]} | {wrong[rule]} | {wrong[rule] / total[rule]:.1%} |")
    every, bad = sum(total.values()), sum(wrong.values())
    print(f"| all | {every} | {bad} | {bad / max(every, 1):.1%} |")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("judged.csv"))
