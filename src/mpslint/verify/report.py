"""The answer of a verification: a verdict per device, the whole, and what it was worth."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import Any

from mpslint.basics.printable import printable
from mpslint.verify.changed_lines import AGREED, DID_NOT_RUN, NAMED, ChangedLine
from mpslint.verify.changed_lines import RAN as RAN_THERE

PASS, FAIL, INCONCLUSIVE, SKIPPED = "pass", "fail", "inconclusive", "skipped"
RAN = "ran"  # as the original did, but no number was compared
PARTIAL = "partial"  # pass or ran, for a part of the changed lines
_SHOWN = 5
_SAID_TWICE = 60  # Characters: a reason that is no longer is read as quickly as "as said above".
_WORST_FIRST = (FAIL, INCONCLUSIVE, SKIPPED, RAN, PASS)
SIMULATED = (
    "simulated devices compute with the CPU's arithmetic: kernel bugs, precision, memory pressure "
    "and speed of the real device are not checked"
)


@dataclass(frozen=True)
class Run:
    """One device. kind: "simulated" or "real" (the plain CPU is real); seconds of the patched
    script's run; left_out: what is not part of the comparison; unavailable: the device could not
    be simulated, or is not there.
    """

    device: str
    kind: str
    verdict: str
    reason: str
    seconds: float = 0.0
    error: dict[str, Any] | None = None
    syncs: list[dict[str, Any]] = field(default_factory=list)
    copies: list[dict[str, Any]] = field(default_factory=list)
    fallbacks: list[dict[str, Any]] = field(default_factory=list)
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    unavailable: bool = False

    @property
    def name(self) -> str:
        return self.device if self.device == "cpu" else f"{self.kind} {self.device}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "device": self.device,
            "kind": self.kind,
            "verdict": self.verdict,
            "reason": self.reason,
            "seconds": round(self.seconds, 3),
            "error": self.error,
            "syncs": self.syncs,
            "copies": self.copies,
            "fallbacks": self.fallbacks,
            "notes": list(self.notes),
            "left_out": list(self.left_out),
        }


@dataclass(frozen=True)
class Isolation:
    """What kept the script from the user's files and the machine, and what could not."""

    in_force: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Report:
    """The verdict over all devices is the worst one; its reason is that of the first device that
    has it. lines: those that the rewrite changed.
    """

    script: str
    runs: tuple[Run, ...]
    verdict: str
    reason: str
    isolation: Isolation = Isolation()
    control: str = ""
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    lines: tuple[ChangedLine, ...] = ()

    @property
    def headline(self) -> str:
        """The verdict in words, with all that it does not cover."""
        word = self.verdict
        if word == PARTIAL:
            word = PASS if all(run.verdict == PASS for run in self.runs) else RAN
        return word + (f" ({self.reason})" if self.reason else "")

    def to_dict(self) -> dict[str, Any]:
        return {
            "script": self.script,
            "verdict": self.verdict,
            "reason": self.reason,
            "runs": [run.to_dict() for run in self.runs],
            "changed_lines": [line.to_dict() for line in self.lines],
            "control": self.control,
            "isolation": {
                "in_force": list(self.isolation.in_force),
                "not_isolated": list(self.isolation.missing),
            },
            "notes": list(self.notes),
            "seconds": round(self.seconds, 3),
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2)

    def to_text(self) -> str:
        width = max((len(run.name) for run in self.runs), default=0)
        lines = [f"{self.script}: {self.headline}"]
        for run in self.runs:
            timing = f"  {run.seconds:.1f} s" if run.seconds else ""
            said = again(run.reason) if any(run.reason in line for line in lines) else run.reason
            lines.append(f"  {run.name:<{width}}  {run.verdict:<12}  {said}{timing}")
            lines += [f"  {'':<{width}}  {'':<12}  note: {note}" for note in run.notes]
            lines += [f"  {'':<{width}}  {'':<12}  {text}" for text in _costs(run)]
        if self.lines:
            ran = sum(line.state in (AGREED, RAN_THERE) for line in self.lines)
            agreed = sum(line.state == AGREED for line in self.lines)
            lines.append(f"  changed lines: {len(self.lines)}; {ran} ran, {agreed} of these agreed")
        if self.control:
            lines.append(f"  negative control: {self.control}")
        if self.isolation.in_force:
            lines.append("  isolated: " + "; ".join(self.isolation.in_force))
        lines += [f"  not isolated: {text}" for text in self.isolation.missing]
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join(map(printable, lines))


def again(reason: str) -> str:
    """A reason that stands above already: what is long is not said twice."""
    return reason if len(reason) <= _SAID_TWICE else "as said above"


def _costs(run: Run) -> list[str]:
    parts = []
    for name, rows in (("syncs", run.syncs), ("copies", run.copies), ("fallbacks", run.fallbacks)):
        if count := sum(int(row.get("count", 1)) for row in rows):
            parts.append(f"{count} {name}")
    return [", ".join(parts)] if parts else []


def overall(runs: tuple[Run, ...]) -> tuple[str, str]:
    """The worst verdict and the reason of the first run that has it."""
    for verdict in _WORST_FIRST:
        for run in runs:
            if run.verdict == verdict:
                return verdict, "" if verdict == PASS else f"{run.name}: {run.reason}"
    return SKIPPED, "nothing was run"


def covering(
    judged: tuple[str, str],
    lines: tuple[ChangedLine, ...],
    left_out: tuple[str, ...],
    extent: str = "",
) -> tuple[str, str]:
    """A verdict and its reason, with what they do not cover said in the reason. extent: how much of
    the program was run, where that is not all of it.
    """
    verdict, reason = judged
    if verdict not in (PASS, RAN):
        return judged
    missing = [line for line in lines if line.state == DID_NOT_RUN]
    named = [line for line in lines if line.state == NAMED]
    said = [text for text in (extent, reason) if text]
    if named:
        said.append(f"no device was named, which {_places(named)} would take")
    if missing:
        verdict = PARTIAL
        left = len(lines) - len(missing) - len(named)
        counted = f"{left} of {len(lines)} changed lines ran"
        said.insert(0, f"{counted}; did not run: {_places(missing)}")
    if left_out:
        more = f" and {len(left_out) - _SHOWN} more" if len(left_out) > _SHOWN else ""
        said.append(f"not compared: {', '.join(left_out[:_SHOWN])}{more}")
    return verdict, "; ".join(said)


def _places(lines: list[ChangedLine]) -> str:
    """`train.py:4, 9-11`: rows that follow each other as one range."""
    rows: dict[str, list[list[int]]] = {}
    for line in lines:
        ranges = rows.setdefault(os.path.basename(line.file), [])
        if ranges and ranges[-1][1] == line.line - 1:
            ranges[-1][1] = line.line
        else:
            ranges.append([line.line, line.line])
    shown = [
        f"{name}:"
        + ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in ranges[:_SHOWN])
        + (" ..." if len(ranges) > _SHOWN else "")
        for name, ranges in rows.items()
    ]
    return "; ".join(shown)
