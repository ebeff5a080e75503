"""`trace`: one training step on a device, with every wait, copy and fallback at its source line."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from mpslint import pages
from mpslint.sources.files import read_regular
from mpslint.verify import interpreter
from mpslint.verify.outcome import classify
from mpslint.verify.pace import Pace
from mpslint.verify.report import Isolation
from mpslint.verify.request import BadRequest, Request
from mpslint.verify.timeline import Event, Step, events_of, last_step
from mpslint.verify.workshop import Workshop

_STEPS = 3  # one to move the model, one to settle, one to show
_MOST_SOURCE = 10 << 20


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
            pages.count(self.fallbacks, "fallback"),
            pages.count(self.waits, "wait"),
            pages.count(self.copies, "copy", "copies")
            + (f" ({pages.size(self.bytes)})" if self.bytes else ""),
            pages.count(self.operations, "operation"),
        ]
        return ", ".join(part for part in parts if not part.startswith("0 "))


@dataclass(frozen=True)
class Trace:
    """The traced step, its costs by line, and the counts of every step. `ok`: the script ran."""

    script: str
    device: str
    kind: str
    ok: bool
    reason: str
    step: Step
    operations: int = 0
    """What the device ran in that step, copies and reads of numbers included."""
    lines: tuple[Line, ...] = ()
    steps: tuple[Mapping[str, Any], ...] = ()
    notes: tuple[str, ...] = ()
    isolation: Isolation = field(default_factory=Isolation)

    @property
    def name(self) -> str:
        return self.device if self.device == "cpu" else f"{self.kind} {self.device}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "script": self.script,
            "device": self.device,
            "kind": self.kind,
            "ok": self.ok,
            "reason": self.reason,
            "steps": list(self.steps),
            "step": self.step.title,
            "follows": self.step.follows,
            "operations": self.operations,
            "lines": [vars(line) for line in self.lines],
            "events": [event._asdict() for event in self.step.events],
            "notes": list(self.notes),
            "isolation": {
                "in_force": list(self.isolation.in_force),
                "not_isolated": list(self.isolation.missing),
            },
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2)

    def to_text(self) -> str:
        from mpslint.verify.trace_text import render

        return render(self)

    def to_html(self) -> str:
        """The page. Raises `mpslint.pages.NoTemplates`."""
        from mpslint.verify.trace_page import render

        return render(self)

    def to_chrome(self) -> str:
        """For Perfetto and the viewers of torch.profiler."""
        from mpslint.verify.trace_chrome import render

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
        launch = workshop.launch(
            request.patched,
            device,
            real=bool(request.real),
            pace=Pace(request.steps or _STEPS),
            options=("--trace",),
        )
        outcome = classify(launch)
        step = last_step(events_of(launch.value("events", [])), ended=outcome.ok)
        steps = tuple(launch.value("step_costs", []))
        operations = steps[-1].get("device_ops", 0) if steps else launch.value("device_ops", 0)
        return Trace(
            script=request.script,
            device=device,
            kind=launch.kind,
            ok=outcome.ok,
            reason=outcome.reason,
            step=step,
            operations=int(operations),
            lines=_lines(step.events, _Sources((workshop.root, *python.path)), findings_for),
            steps=steps,
            notes=tuple(map(str, launch.value("notes", []))),
            isolation=workshop.isolated(),
        )


class _Sources:
    """Lines of Python files of the project and the libraries: which ones, a run says, and it may
    say the name of any file."""

    def __init__(self, folders: Iterable[str]) -> None:
        self._folders = tuple(os.path.join(os.path.realpath(folder), "") for folder in folders)
        self._known: dict[str, list[str]] = {}

    def __contains__(self, file: str) -> bool:
        return (
            file.endswith(".py")
            and "\0" not in file
            and os.path.realpath(file).startswith(self._folders)
        )

    def line(self, file: str, number: int) -> str:
        """The text of a line; nothing where there is none to show."""
        if file not in self._known:
            try:
                data = read_regular(file, _MOST_SOURCE) if file in self else b""
            except OSError:
                data = b""
            self._known[file] = data.decode("utf-8", "replace").splitlines()
        lines = self._known[file]
        return lines[number - 1].strip() if 0 < number <= len(lines) else ""


def _lines(
    events: Sequence[Event], sources: _Sources, findings_for: FindingsFor | None
) -> tuple[Line, ...]:
    places: dict[tuple[str, int], list[Event]] = {}
    for event in events:
        if event.kind != "step":
            places.setdefault((event.file, event.line), []).append(event)
    advice = _advice({file for file, _ in places if file in sources}, findings_for)
    lines = [
        _line(place, rows, sources.line(*place), advice.get(place, ()))
        for place, rows in places.items()
    ]
    return tuple(sorted(lines, key=_dearest_first))


def _dearest_first(line: Line) -> tuple[int, int, int, str, int]:
    return -line.weight, -line.bytes, -line.operations, line.file, line.line


def _line(
    place: tuple[str, int], events: list[Event], source: str, advice: tuple[str, ...]
) -> Line:
    kinds = Counter(event.kind for event in events)
    copies = [event for event in events if event.kind in ("h2d", "d2h")]
    words = Counter(event.in_words() for event in events if event.kind not in ("op", "d2d"))
    return Line(
        file=place[0],
        line=place[1],
        source=source,
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
