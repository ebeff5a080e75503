"""One device's part of a report, made of what was launched and how that was judged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from mpslint.verify.launch import Launch
from mpslint.verify.report import SIMULATED, SKIPPED, Report, Run
from mpslint.verify.request import Request
from mpslint.verify.verdict import Judgement


def skipped(request: Request, executable: str) -> Report:
    """Nothing can be run with this Python."""
    reason = f"there is no torch in {executable}; nothing was run"
    runs = tuple(unrun(device, Judgement(SKIPPED, reason)) for device in request.devices)
    return Report(request.script, runs, SKIPPED, reason)


def unrun(device: str, judged: Judgement) -> Run:
    """A device on which nothing was launched."""
    kind = "real" if device == "cpu" else "simulated"
    return Run(device, kind, judged.verdict, judged.reason)


def run_of(launch: Launch, judged: Judgement) -> Run:
    return Run(
        device=launch.device,
        kind="simulated" if launch.kind == "simulated" else "real",
        verdict=judged.verdict,
        reason=judged.reason,
        seconds=launch.seconds,
        error=_short(launch.error),
        syncs=list(launch.value("syncs", [])),
        copies=list(launch.value("copies", [])),
        fallbacks=list(launch.value("fallbacks", [])),
        notes=(*judged.notes, *map(str, launch.value("notes", []))),
        left_out=judged.left_out,
        unavailable=launch.outcome == "unavailable",
    )


def noted(runs: Sequence[Run], left_out: Iterable[str], unread: Iterable[str]) -> list[str]:
    """What a reader of a report should know: the devices are simulated, and which files were not
    copied or not compared.
    """
    notes = []
    if any(run.kind == "simulated" and run.seconds for run in runs):
        notes.append(SIMULATED)
    for what, names in {"left out of the copy": [*left_out], "not compared": [*unread]}.items():
        if names:
            notes.append(f"{what}: {', '.join(names[:5])}{' ...' if len(names) > 5 else ''}")
    return notes


def with_verdict(run: Run, verdict: str, reason: str) -> Run:
    return replace(run, verdict=verdict, reason=reason)


def _short(error: dict[str, Any] | None) -> dict[str, Any] | None:
    if error is None:
        return None
    return {key: error.get(key) for key in ("type", "message", "file", "line")}
