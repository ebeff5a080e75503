"""`trace`: one training step on a device, with every wait, copy and fallback at its source line."""

from __future__ import annotations

import json
import linecache
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from mpslint.verify import interpreter, isolation
from mpslint.verify.outcome import classify
from mpslint.verify.report import Isolation
from mpslint.verify.request import BadRequest, Request
from mpslint.verify.timeline import Event, Step, events_of, last_step
from mpslint.verify.workshop import Workshop


class Finding(Protocol):
    """What the linter says about a line."""

    @property
    def row(self) -> int: ...
    @property
    def code(self) -> str: ...
    @property
    def message(self) -> str: ...


FindingsFor = Callable[[str], Iterable[Finding]]


@dataclass(frozen=True)
class Line:
    """What one source line cost in one step. bytes: copied between host and device."""

    file: str
    line: int
    source: str
    waits: int = 0
    copies: int = 0
    bytes: int = 0
    fallbacks: int = 0
    operations: int = 0
    what: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()

    @property
    def weight(self) -> int:
        """Sorts the lines: a wait drains the queue, a fallback waits and copies both ways."""
        return 4 * self.fallbacks + 2 * self.waits + self.copies

    @property
    def costs(self) -> bool:
        return bool(self.waits or self.copies or self.fallbacks)

    def in_words(self) -> str:
        parts = [
            _count(self.fallbacks, "fallback"),
            _count(self.waits, "wait"),
            _count(self.copies, "copy", "copies")
            + (f" ({size(self.bytes)})" if self.bytes else ""),
            _count(self.operations, "operation"),
        ]
        return ", ".join(part for part in parts if not part.startswith("0 "))


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def size(number: float) -> str:
    """Bytes for people."""
    for unit in ("B", "kB", "MB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} GB"


@dataclass(frozen=True)
class Trace:
    """The traced step, its costs by line, and the counts of every step. `ok`: the script ran."""

    script: str
    device: str
    kind: str
    ok: bool
    reason: str
    step: Step
    lines: tuple[Line, ...] = ()
    steps: tuple[Mapping[str, Any], ...] = ()
    notes: tuple[str, ...] = ()
    isolation: Isolation = field(default_factory=Isolation)

    @property
    def name(self) -> str:
        return self.device if self.device == "cpu" else f"{self.kind} {self.device}"

    def to_json(self) -> str:
        return json.dumps(
            {
                "script": self.script,
                "device": self.device,
                "kind": self.kind,
                "ok": self.ok,
                "reason": self.reason,
                "steps": list(self.steps),
                "step": self.step.title,
                "lines": [vars(line) for line in self.lines],
                "events": [event._asdict() for event in self.step.events],
                "notes": list(self.notes),
            },
            indent=2,
        )

    def to_text(self) -> str:
        from mpslint.verify.trace_text import render

        return render(self)

    def to_html(self) -> str:
        from mpslint.verify.trace_html import render

        return render(self)


def trace(
    request: Request,
    findings_for: FindingsFor | None = None,
    progress: Callable[[str], None] | None = None,
) -> Trace:
    """Run the script of a request on its first device and keep one step's timeline.

    `findings_for` gives the linter's findings of a file; they are shown at the lines that cost
    something. Raises BadRequest when there is nothing to run or no torch to run it with.
    """
    request.checked()
    device = request.devices[0]
    python = interpreter.ask(request.interpreter, request.env)
    if python.torch is None:
        raise BadRequest(f"{python.executable}: has no torch; name another Python with --python")
    if progress:
        progress(f"{'real' if request.real else 'simulated'} {device}")
    with Workshop(request, python) as workshop:
        launch = workshop.launch(request.patched, device, real=request.real, options=("--trace",))
        outcome = classify(launch)
        step = last_step(events_of(launch.value("events", [])))
        return Trace(
            script=request.script,
            device=device,
            kind=launch.kind,
            ok=outcome.ok,
            reason=outcome.reason,
            step=step,
            lines=_lines(step.events, findings_for),
            steps=tuple(launch.value("step_costs", [])),
            notes=tuple(map(str, launch.value("notes", []))),
            isolation=isolation.describe(
                workshop.isolation, request.memory, request.timeout, workshop.processes
            ),
        )


def _lines(events: Sequence[Event], findings_for: FindingsFor | None) -> tuple[Line, ...]:
    places: dict[tuple[str, int], list[Event]] = {}
    for event in events:
        if event.kind != "step":
            places.setdefault((event.file, event.line), []).append(event)
    advice = _advice({file for file, _ in places}, findings_for)
    lines = [_line(place, rows, advice.get(place, ())) for place, rows in places.items()]
    return tuple(sorted(lines, key=_dearest_first))


def _dearest_first(line: Line) -> tuple[int, int, int, str, int]:
    return -line.weight, -line.bytes, -line.operations, line.file, line.line


def _line(place: tuple[str, int], events: list[Event], advice: tuple[str, ...]) -> Line:
    kinds = Counter(event.kind for event in events)
    copies = [event for event in events if event.kind in ("h2d", "d2h")]
    words = Counter(event.in_words() for event in events if event.kind not in ("op", "d2d"))
    return Line(
        file=place[0],
        line=place[1],
        source=linecache.getline(*place).strip(),
        waits=kinds["sync"],
        copies=len(copies),
        bytes=sum(event.bytes for event in copies),
        fallbacks=kinds["fallback"],
        operations=kinds["op"],
        what=tuple(f"{n} x {text}" if n > 1 else text for text, n in words.items()),
        advice=advice,
    )


def _advice(
    files: set[str], findings_for: FindingsFor | None
) -> dict[tuple[str, int], tuple[str, ...]]:
    found: dict[tuple[str, int], tuple[str, ...]] = {}
    for file in sorted(files) if findings_for else ():
        if findings_for is None or not os.path.isfile(file):
            continue
        for finding in findings_for(file):
            key = (file, finding.row)
            found[key] = (*found.get(key, ()), f"{finding.code} {finding.message}")
    return found
