"""A trace as text: counts per step, the lines that cost most, and the order of events."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from mpslint.basics.printable import printable
from mpslint.verify.report import SIMULATED
from mpslint.verify.timeline import Event

if TYPE_CHECKING:
    from mpslint.verify.tracing import Line, Trace

_COLUMNS = (
    ("step", "step"),
    ("device ops", "device_ops"),
    ("waits", "syncs"),
    ("to device", "h2d"),
    ("to host", "d2h"),
    ("bytes", "bytes"),
    ("fallbacks", "fallbacks"),
    ("switches", "switches"),
)
_MOST_LINES = 15


def render(trace: Trace) -> str:
    return "\n".join(printable(line.expandtabs()) for line in _sections(trace))


def _sections(trace: Trace) -> Iterator[str]:
    said = "" if trace.ok else f": {trace.reason}"
    yield f"{trace.script} on {trace.name}{said}"
    if trace.steps:
        yield ""
        yield from _table(trace)
    costly = [line for line in trace.lines if line.costs]
    if costly:
        yield ""
        yield "Lines that cost most in this step"
        for line in costly[:_MOST_LINES]:
            yield from _line(line)
    if trace.step.events:
        yield ""
        yield f"Timeline: {trace.step.title}"
        yield from _events(trace.step.events)
    if trace.ok and not costly:
        yield ""
        yield "No wait, copy or fallback in this step."
    yield ""
    yield from (f"note: {note}" for note in trace.notes)
    yield f"note: {SIMULATED}" if trace.kind == "simulated" else "note: measured on this machine"
    yield from (f"not isolated: {text}" for text in trace.isolation.missing)


def _table(trace: Trace) -> Iterator[str]:
    yield "  ".join(f"{title:>{max(len(title), 5)}}" for title, _ in _COLUMNS)
    for row in trace.steps:
        cells = [f"{row.get(key, 0):.0f}" for _, key in _COLUMNS]
        widths = [max(len(title), 5) for title, _ in _COLUMNS]
        yield "  ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))


def _line(line: Line) -> Iterator[str]:
    yield f"  {os.path.basename(line.file)}:{line.line}  {line.in_words()}"
    yield f"      {line.source}"
    yield from (f"      -> {text}" for text in line.advice)


def _events(events: Sequence[Event]) -> Iterator[str]:
    """Operations are told in runs; whatever makes the host wait has a line of its own."""
    for is_op, run in groupby(events, key=lambda event: event.kind in ("op", "d2d")):
        rows = list(run)
        if is_op:
            names = Counter(event.name for event in rows)
            some = ", ".join(name for name, _ in names.most_common(4))
            more = ", ..." if len(names) > 4 else ""
            yield f"    {len(rows):>4} x  operation  {some}{more}"
        else:
            yield from (f"    {_kind(e):>15}  {_place(e)}  {_detail(e)}".rstrip() for e in rows)


def _kind(event: Event) -> str:
    names = {"sync": "WAIT", "h2d": "copy >", "d2h": "copy <", "fallback": "FALLBACK"}
    return names.get(event.kind, event.kind)


def _place(event: Event) -> str:
    return f"{os.path.basename(event.file)}:{event.line}"


def _detail(event: Event) -> str:
    if event.kind == "step":
        return event.name
    amount = f" ({event.bytes} bytes)" if event.bytes else ""
    return event.in_words() + amount
