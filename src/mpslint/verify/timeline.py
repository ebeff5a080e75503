"""The harness's events of one training step, and a simple model of when host and device are busy.

The simulated device works when it is called, so its clock says nothing about a real one. The model
lays the same events out the way a queue works: the host hands operations over and goes on, and
stands still where it has to wait. Order, counts and places are facts; lengths are not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

QUEUE = 10.0  # microseconds to hand one operation over
KERNEL = 15.0  # and to run it: what the CPU needs for it says nothing about a GPU
ROUND_TRIP = 25.0  # until the host hears that the device is done
BYTES_PER_MICROSECOND = 10_000.0

_WORDS = {
    "h2d": "copy to the device",
    "d2h": "copy to the host",
    "d2d": "copy on the device",
    "switch": "switch of backend",
}


class Event(NamedTuple):
    """kind: op, sync, h2d, d2h, d2d, fallback, switch or step; moment and duration in seconds."""

    moment: float
    kind: str
    name: str
    file: str
    line: int
    duration: float
    bytes: int
    step: int

    def in_words(self) -> str:
        if self.kind == "fallback":
            return f"{self.name} runs on the CPU"
        return _WORDS.get(self.kind, self.name)


class Step(NamedTuple):
    title: str
    events: tuple[Event, ...]
    follows: bool = False
    """Another step came before, whose last work the device still has in its queue."""


class Span(NamedTuple):
    """A bar on a lane ("host" or "device"), in microseconds of the model."""

    lane: str
    kind: str  # "queue", "wait", "op", "copy", "fallback"
    start: float
    end: float
    event: Event


def events_of(rows: Iterable[Mapping[str, Any]]) -> list[Event]:
    return [
        Event(
            float(row["t"]),
            str(row["kind"]),
            str(row["name"]),
            str(row["file"]),
            int(row["line"]),
            float(row["dur"]),
            int(row["bytes"]),
            int(row["step"]),
        )
        for row in rows
    ]


def last_step(events: Sequence[Event], *, ended: bool = True) -> Step:
    """From the end of the last step but one to the end of the last; all events when none ended.

    The last step is taken because the first ones also pay for moving the model. `ended`: the
    script came to its own end.
    """
    ends = [index for index, event in enumerate(events) if event.kind == "step"]
    if not ends:
        what = "the whole run" if ended else "what ran before the script failed"
        return Step(f"{what} (no optimizer step)", tuple(events))
    first = ends[-2] + 1 if len(ends) > 1 else 0
    number = events[ends[-1]].step
    begin = f"the end of step {number - 1}" if number > 1 else "the start"
    shown = tuple(events[first : ends[-1] + 1])
    return Step(f"step {number}, from {begin} to its own end", shown, number > 1)


def lay_out(step: Step) -> list[Span]:
    """The bars of both lanes by the model described above.

    Steps follow each other: the device begins with what the step before left in its queue.
    """
    events = step.events
    _, host, device = _fill(events, 0.0)
    backlog = max(0.0, device - host) if step.follows else 0.0
    spans, _, _ = _fill(events, backlog)
    if backlog and events:
        before = events[0]._replace(kind="op", name="work queued by the step before")
        spans.insert(0, Span("device", "op", 0.0, backlog, before))
    return spans


def _fill(events: Sequence[Event], device: float) -> tuple[list[Span], float, float]:
    """The bars, and when host and device are through; `device` is when it is free at first."""
    spans: list[Span] = []
    host = 0.0
    for event in events:
        start = max(host + QUEUE, device)
        if event.kind in ("op", "h2d", "d2h", "d2d"):
            spans.append(Span("host", "queue", host, host + QUEUE, event))
            host += QUEUE
            device = start + KERNEL
            if event.kind == "op":
                spans.append(Span("device", "op", start, device, event))
            else:
                device += event.bytes / BYTES_PER_MICROSECOND
                spans.append(Span("device", "copy", start, device, event))
        elif event.kind in ("sync", "fallback"):
            extra = ROUND_TRIP if event.kind == "sync" else 2 * ROUND_TRIP + KERNEL
            end = max(host, device) + extra
            kind = "wait" if event.kind == "sync" else "fallback"
            spans.append(Span("host", kind, host, end, event))
            host = end
    return spans, host, device


class Shares(NamedTuple):
    """Parts of the modelled step: how long the host stands still, and the device has nothing."""

    host_waiting: float
    device_idle: float


def shares(spans: Sequence[Span]) -> Shares:
    if not spans:
        return Shares(0.0, 0.0)
    total = max(span.end for span in spans)
    waiting = sum(s.end - s.start for s in spans if s.kind in ("wait", "fallback"))
    busy = sum(s.end - s.start for s in spans if s.lane == "device")
    return Shares(waiting / total, max(0.0, 1 - busy / total))
