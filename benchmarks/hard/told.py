"""What the parts of the campaign hand over, and how it is shown."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parents[2]
SOURCE = REPOSITORY / "src"
MPSLINT = (sys.executable, "-m", "mpslint")
MOST_SHOWN = 10


class Row(NamedTuple):
    """One line of the table."""

    what: str
    tried: int
    of: str
    """What was counted: files, runs, cases."""
    wrong: tuple[str, ...]
    """One line for each that went wrong."""
    note: str = ""


def table(rows: Iterable[Row]) -> str:
    """Everything that was tried, and below it what went wrong."""
    rows = list(rows)
    lines = ["| tried | how many | went wrong | |", "| --- | ---: | ---: | --- |"]
    lines += [
        f"| {row.what} | {row.tried:,} {row.of} | {len(row.wrong):,} | {row.note} |" for row in rows
    ]
    for row in rows:
        lines += ["", f"{row.what}:"] if row.wrong else []
        lines += [f"- {line}" for line in row.wrong[:MOST_SHOWN]]
        if len(row.wrong) > MOST_SHOWN:
            lines.append(f"- and {len(row.wrong) - MOST_SHOWN:,} more")
    return "\n".join(lines)


def environment(work: Path, more: Mapping[str, str] = {}) -> dict[str, str]:
    """For a run of ours: this repository's sources, a cache and temporary files of its own."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("MPSLINT_")}
    temporary = work / "tmp"
    temporary.mkdir(parents=True, exist_ok=True)
    ours = {
        "PYTHONPATH": str(SOURCE),
        "MPSLINT_CACHE_DIR": str(work / "cache"),
        "TMPDIR": str(temporary),
    }
    return {**kept, **ours, **more}
