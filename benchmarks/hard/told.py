"""What the parts of the campaign hand over, and how it is shown."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

REPOSITORY = Path(__file__).resolve().parents[2]
SOURCE = REPOSITORY / "src"
MPSLINT = (sys.executable, "-m", "mpslint")
MOST_SHOWN = 10
_Thing = TypeVar("_Thing")


class Row(NamedTuple):
    """One line of the table, or what a part of the campaign adds to one."""

    what: str
    tried: int
    of: str
    """What was counted: files, runs, cases."""
    wrong: tuple[str, ...]
    """One line for each that went wrong."""
    note: str = ""
    also: Mapping[str, int] = {}
    """What else was counted on the way, under the words that the table has for it."""
    slowest: tuple[float, str] = (0.0, "")
    """Seconds, and of what; where it was measured."""
    cpu: float = 0.0
    """Seconds of the processor that it took."""

    def __add__(self, other: object) -> Row:
        """The row of two parts together."""
        assert isinstance(other, Row)
        assert (self.what, self.of) == (other.what, other.of)
        also = {
            name: self.also.get(name, 0) + other.also.get(name, 0)
            for name in {**self.also, **other.also}
        }
        note = self.note if other.note in self.note else f"{self.note}; {other.note}".strip("; ")
        return Row(
            self.what,
            self.tried + other.tried,
            self.of,
            self.wrong + other.wrong,
            note,
            also,
            max(self.slowest, other.slowest),
            self.cpu + other.cpu,
        )

    def told(self) -> str:
        """The last column of the table."""
        parts = [f"{count:,} {name}" for name, count in self.also.items()]
        if self.slowest[1]:
            parts.append(f"slowest {self.slowest[0]:.1f} s ({self.slowest[1]})")
        return "; ".join([self.note, *parts] if self.note else parts)


class Share(NamedTuple):
    """Which part of the whole a run takes: each `of`-th thing, beginning with the `number`-th. All
    shares together take everything once."""

    number: int = 1
    of: int = 1

    @classmethod
    def parse(cls, text: str) -> Share:
        """From a text such as `2/5`."""
        number, _, of = text.partition("/")
        share = cls(int(number), int(of))
        if not 1 <= share.number <= share.of:
            raise ValueError(text)
        return share

    def part(self, things: Sequence[_Thing]) -> list[_Thing]:
        return list(things[self.number - 1 :: self.of])

    def count(self, whole: int) -> int:
        """How many of so many."""
        return len(range(self.number - 1, whole, self.of))


def table(rows: Iterable[Row]) -> str:
    """Everything that was tried, and below it what went wrong."""
    together: dict[str, Row] = {}
    for row in rows:
        together[row.what] = together[row.what] + row if row.what in together else row
    lines = ["| tried | how many | went wrong | CPU s | |", "| --- | ---: | ---: | ---: | --- |"]
    lines += [
        f"| {row.what} | {row.tried:,} {row.of} | {len(row.wrong):,} | {row.cpu:,.0f} | "
        f"{row.told()} |"
        for row in together.values()
    ]
    cpu = sum(row.cpu for row in together.values())
    lines += ["", f"{cpu:,.0f} CPU s in all."]
    for row in together.values():
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
