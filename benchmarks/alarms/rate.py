"""The rate of false alarms, from the judged list.

    python benchmarks/alarms/rate.py [--list judged.csv] [--still FOLDER]

Over all, each finding counts once; the share of a rule is over its own findings. With `--still`
only findings count that mpslint still reports below FOLDER (where the list was drawn from): what a
change of the rules has done since the list was judged.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections import Counter
from pathlib import Path

import draw

KEY = ("repository", "file", "line", "rule")


def main(path: Path, folder: Path | None) -> None:
    total: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    still = None
    if folder is not None:
        still = {tuple(row[k] for k in KEY) for row in draw.findings(folder.resolve())}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if still is not None and tuple(row[k] for k in KEY) not in still:
                continue
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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", type=Path, default=Path(__file__).with_name("judged.csv"))
    parser.add_argument("--still", type=Path, metavar="FOLDER")
    arguments = parser.parse_args()
    main(arguments.list, arguments.still)
