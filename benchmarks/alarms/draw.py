"""Draw findings at random from real code, for people to judge.

    python benchmarks/alarms/draw.py FOLDER [--seed N] [--each 15] [--least 300] > drawn.csv

FOLDER holds one checkout a folder. The draw takes up to `--each` findings of every default rule
(all, where there are fewer), then more until there are `--least`; the seed makes it repeatable.
The output has an empty verdict and reason: a reader who does not know the rule's code fills them
in with `right` or `wrong` and a few words. No source is copied.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

COLUMNS = ("repository", "file", "line", "rule", "message", "verdict", "reason")


def findings(folder: Path) -> list[dict[str, str]]:
    """All findings of the default rules below `folder`, as rows without verdict."""
    argv = [sys.executable, "-m", "mpslint", "check", "--isolated", "--output-format", "json"]
    done = subprocess.run([*argv, str(folder)], capture_output=True, text=True)
    rows = []
    for found in json.loads(done.stdout):
        repository, _, file = str(Path(found["filename"]).relative_to(folder)).partition("/")
        line = str(found["location"]["row"])
        rows.append(
            {
                "repository": repository.replace("+", "/"),
                "file": file,
                "line": line,
                "rule": found["code"],
                "message": found["message"],
                "verdict": "",
                "reason": "",
            }
        )
    return rows


def draw(rows: list[dict[str, str]], each: int, least: int, seed: int) -> list[dict[str, str]]:
    """`each` of every rule, then any, until there are `least`."""
    generator = random.Random(seed)
    rows = sorted(rows, key=lambda row: tuple(row.values()))
    generator.shuffle(rows)
    by_rule: dict[str, list[dict[str, str]]] = defaultdict(list)
    for row in rows:
        by_rule[row["rule"]].append(row)
    drawn = [row for rule in sorted(by_rule) for row in by_rule[rule][:each]]
    rest = [row for rule in sorted(by_rule) for row in by_rule[rule][each:]]
    generator.shuffle(rest)
    return drawn + rest[: max(0, least - len(drawn))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--each", type=int, default=15)
    parser.add_argument("--least", type=int, default=300)
    arguments = parser.parse_args()
    rows = findings(arguments.folder.resolve())
    writer = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(draw(rows, arguments.each, arguments.least, arguments.seed))


if __name__ == "__main__":
    main()
