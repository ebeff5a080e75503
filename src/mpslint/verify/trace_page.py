"""A trace as one self-contained HTML page, and the part of it that a project's report shows."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from mpslint import pages
from mpslint.verify import timeline, trace_drawing
from mpslint.verify.report import SIMULATED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mpslint.verify.trace_drawing import Drawing
    from mpslint.verify.tracing import Line, Trace

_MOST_LINES = 25
_COLUMNS = (
    ("Step", "step"),
    ("Device operations", "device_ops"),
    ("Waits", "syncs"),
    ("Copies to the device", "h2d"),
    ("Copies to the host", "d2h"),
    ("Bytes", "bytes"),
    ("Fallbacks", "fallbacks"),
    ("Switches", "switches"),
)


class Tile(NamedTuple):
    label: str
    value: str
    bad: bool = False


class Row(NamedTuple):
    """A line that cost something; `share`: of what the dearest one cost."""

    place: str
    line: Line
    share: float


class View(NamedTuple):
    """What the templates show of a trace."""

    name: str
    script: str
    path: str
    device: str
    said: str
    """Why the script did not run to its end; empty where it did."""
    step: str
    tiles: tuple[Tile, ...]
    drawing: Drawing | None
    rows: tuple[Row, ...]
    nothing: str
    """What stands in place of rows."""
    columns: tuple[tuple[str, str], ...]
    steps: tuple[tuple[tuple[str, str], ...], ...]
    """A row of (column, text) for each step; the last one is drawn."""
    notes: tuple[str, ...]
    model: str


def render(trace: Trace) -> str:
    """The page. Raises `mpslint.pages.NoTemplates`."""
    return pages.render("trace.html", trace=view(trace))


def view(trace: Trace) -> View:
    """What a page shows of a trace."""
    spans = timeline.lay_out(trace.step)
    costly = [line for line in trace.lines if line.costs][:_MOST_LINES]
    most = max((line.weight for line in costly), default=1)
    return View(
        name=f"{os.path.basename(trace.script)} on {trace.name}",
        script=os.path.basename(trace.script),
        path=trace.script,
        device=trace.name,
        said="" if trace.ok else trace.reason,
        step=trace.step.title,
        tiles=tuple(_tiles(trace, timeline.shares(spans))),
        drawing=trace_drawing.draw(spans, trace.name) if spans else None,
        rows=tuple(
            Row(f"{os.path.basename(line.file)}:{line.line}", line, line.weight / most)
            for line in costly
        ),
        nothing=_nothing(trace),
        columns=_COLUMNS,
        steps=tuple(_steps(trace)),
        notes=tuple(_notes(trace)),
        model=(
            "Lengths and times are modelled, not measured: "
            f"{timeline.QUEUE:.0f} µs to queue an operation, {timeline.KERNEL:.0f} µs to run it, "
            f"a round trip of {timeline.ROUND_TRIP:.0f} µs for a wait. Order, counts and places "
            "are what happened. The drawing shows where the queue runs dry, not how long it takes."
        ),
    )


def _nothing(trace: Trace) -> str:
    """What to say where no line cost anything: a script that ended early has shown nothing."""
    if trace.ok:
        return "No wait, copy or fallback in this step."
    if not trace.step.events:
        return "The script ended before it did anything on the device: nothing can be said."
    return "No wait, copy or fallback before the script ended; what comes after it is not known."


def _tiles(trace: Trace, shares: timeline.Shares) -> Iterator[Tile]:
    lines = trace.lines
    waits, fallbacks = sum(x.waits for x in lines), sum(x.fallbacks for x in lines)
    yield Tile("waits of the host", str(waits), waits > 0)
    yield Tile("copies", str(sum(line.copies for line in lines)))
    yield Tile("copied", pages.size(sum(line.bytes for line in lines)))
    yield Tile("CPU fallbacks", str(fallbacks), fallbacks > 0)
    yield Tile("device operations", str(trace.operations))
    if trace.step.events:
        yield Tile("device idle, by the model", f"{shares.device_idle:.0%}")


def _steps(trace: Trace) -> Iterator[tuple[tuple[str, str], ...]]:
    for row in trace.steps:
        yield tuple(
            (title, pages.size(row.get(key, 0)) if key == "bytes" else f"{row.get(key, 0):.0f}")
            for title, key in _COLUMNS
        )


def _notes(trace: Trace) -> Iterator[str]:
    if trace.kind == "simulated":
        yield SIMULATED[0].upper() + SIMULATED[1:] + "."
    yield from trace.notes
    yield from (f"Not isolated: {text}" for text in trace.isolation.missing)
