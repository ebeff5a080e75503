"""The answer of a verification: a verdict per device, the whole, and what it was worth."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from mpslint.printable import printable

PASS, FAIL, INCONCLUSIVE, SKIPPED = "pass", "fail", "inconclusive", "skipped"
_WORST_FIRST = (FAIL, INCONCLUSIVE, SKIPPED, PASS)
SIMULATED = (
    "simulated devices compute with the CPU's arithmetic: kernel bugs, precision, memory pressure "
    "and speed of the real device are not checked"
)


@dataclass(frozen=True)
class Run:
    """One device. kind: "simulated" or "real" (the plain CPU is real); seconds of the patched
    script's run.
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
        }


@dataclass(frozen=True)
class Isolation:
    """What kept the script from the user's files and the machine, and what could not."""

    in_force: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Report:
    """The verdict over all devices is the worst one; its reason is that of the first device that
    has it.
    """

    script: str
    runs: tuple[Run, ...]
    verdict: str
    reason: str
    isolation: Isolation = Isolation()
    control: str = ""
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        return {
            "script": self.script,
            "verdict": self.verdict,
            "reason": self.reason,
            "runs": [run.to_dict() for run in self.runs],
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
        lines = [f"{self.script}: {self.verdict}" + (f" ({self.reason})" if self.reason else "")]
        for run in self.runs:
            timing = f"  {run.seconds:.1f} s" if run.seconds else ""
            lines.append(f"  {run.name:<{width}}  {run.verdict:<12}  {run.reason}{timing}")
            lines += [f"  {'':<{width}}  {'':<12}  note: {note}" for note in run.notes]
            lines += [f"  {'':<{width}}  {'':<12}  {text}" for text in _costs(run)]
        if self.control:
            lines.append(f"  negative control: {self.control}")
        if self.isolation.in_force:
            lines.append("  isolated: " + "; ".join(self.isolation.in_force))
        lines += [f"  not isolated: {text}" for text in self.isolation.missing]
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join(map(printable, lines))


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
