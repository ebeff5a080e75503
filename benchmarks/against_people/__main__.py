"""How many lines that people changed to leave CUDA behind are left behind by `mpslint fix`?

    python benchmarks/against_people CORPUS --labels LABELS.json [--optional] [--read N]

CORPUS holds `ID/before/FILE` and `ID/after/FILE` of commits that moved code from CUDA to other
devices; LABELS lists, per commit, the lines of the before side that had to change:
`{"ports": [{"id", "repo", "labels": [{"file", "line", "kind", "expect"}]}]}`. A line ends
device-agnostic when it (or the selection or guard it belongs to) was changed and no finding is
left where it now is. A hunk is a run of labelled lines at most three apart.

The numbers do not say whether the change is the right one: `--read` prints ours beside theirs,
and `judged.csv` beside this file keeps what a reader made of it (no source, only places).
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

from compare import FixedFile, Outcome, hunk

_APART = 3


class Line(NamedTuple):
    port: str
    repo: str
    file: str
    row: int
    kind: str
    before: Path
    after: Path


def labelled(corpus: Path, ports: list[dict[str, Any]], *, optional: bool) -> Iterator[Line]:
    for port in ports:
        for label in port["labels"]:
            if label["expect"] != "flag" and not optional:
                continue
            sides = [corpus / port["id"] / side / label["file"] for side in ("before", "after")]
            if sides[0].suffix == ".py" and sides[0].is_file():
                place = (label["file"], int(label["line"]), label["kind"])
                yield Line(port["id"], port["repo"], *place, *sides)


def outcomes(found: list[Line], *, unsafe: bool) -> dict[Line, Outcome]:
    files: dict[Path, FixedFile] = {}
    out = {}
    for line in found:
        if line.before not in files:
            files[line.before] = FixedFile(
                str(line.before), line.before.read_bytes(), unsafe=unsafe
            )
        out[line] = files[line.before].outcome(line.row)
    return out


def hunks(found: list[Line]) -> list[list[Line]]:
    """Runs of labelled lines in one file, at most `_APART` rows apart."""
    out: list[list[Line]] = []
    for line in sorted(set(found), key=lambda item: (str(item.before), item.row)):
        if out and out[-1][-1].before == line.before and line.row - out[-1][-1].row <= _APART:
            out[-1].append(line)
        else:
            out.append([line])
    return out


def table(found: list[Line], safe: dict[Line, Outcome], unsafe: dict[Line, Outcome]) -> str:
    by_kind: dict[str, list[Line]] = defaultdict(list)
    for line in found:
        by_kind[line.kind].append(line)
    rows = [("what people changed", "lines", "default", "--unsafe-fixes")]
    for kind, group in sorted(by_kind.items(), key=lambda item: -len(item[1])):
        rows.append((kind, str(len(group)), *(_share(group, side) for side in (safe, unsafe))))
    rows.append(("all lines", str(len(found)), _share(found, safe), _share(found, unsafe)))
    whole = hunks(found)
    shares = [
        f"{sum(all(side[line].agnostic for line in group) for group in whole)}"
        for side in (safe, unsafe)
    ]
    rows.append(("whole hunks", str(len(whole)), *shares))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if at == 0 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )


def _share(group: list[Line], side: dict[Line, Outcome]) -> str:
    number = sum(side[line].agnostic for line in group)
    return f"{number} ({number / len(group):.0%})" if group else "0"


def read(found: list[Line], count: int, seed: int, *, unsafe: bool) -> None:
    """Print ours beside theirs for lines drawn at random."""
    for line in sorted(random.Random(seed).sample(found, min(count, len(found)))):
        data = line.before.read_bytes()
        ours = FixedFile(str(line.before), data, unsafe=unsafe)
        outcome = ours.outcome(line.row)
        print(f"=== {line.port} {line.repo} {line.file}:{line.row} {line.kind}")
        print(f"    {outcome.verdict} {outcome.reason}")
        print("--- ours", ours.hunk(line.row), "--- theirs", sep="\n")
        theirs = line.after.read_text("utf-8", "replace") if line.after.is_file() else ""
        print(hunk(ours.before.text, theirs, line.row, 2))


def main() -> None:
    options = argparse.ArgumentParser(prog="against_people", description=__doc__)
    options.formatter_class = argparse.RawDescriptionHelpFormatter
    options.add_argument("corpus", type=Path)
    options.add_argument("--labels", type=Path, required=True)
    options.add_argument("--optional", action="store_true", help="also lines that need judgement")
    options.add_argument("--read", type=int, metavar="N", help="print N changes to read")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--unsafe-fixes", action="store_true", help="with --read")
    options.add_argument("-v", "--verbose", action="store_true", help="list what is not agnostic")
    given = options.parse_args()
    ports = json.loads(given.labels.read_text())["ports"]
    found = list(labelled(given.corpus, ports, optional=given.optional))
    if not found:
        sys.exit(f"{given.corpus}: no file of the labels is there")
    if given.read:
        read(found, given.read, given.seed, unsafe=given.unsafe_fixes)
        return
    safe, unsafe = outcomes(found, unsafe=False), outcomes(found, unsafe=True)
    print(table(found, safe, unsafe))
    left = Counter(f"{o.verdict}: {o.reason}" for o in unsafe.values() if not o.agnostic)
    for reason, number in left.most_common():
        print(f"{number:4d}  {reason}")
    if given.verbose:
        for line in found:
            if not safe[line].agnostic:
                told = f"{safe[line].verdict}: {safe[line].reason}"
                print(f"{line.port} {line.file}:{line.row} {line.kind}: {told}")


if __name__ == "__main__":
    main()
