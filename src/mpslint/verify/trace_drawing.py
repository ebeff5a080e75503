"""Where the shapes of a trace's timeline stand: two lanes, and a pin for whatever stops the host.

Only geometry; the template `_trace.html` draws it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from mpslint.verify.timeline import Span

_LEFT, _RIGHT, _WIDTH = 92, 24, 1130
_MARGIN, _LANE, _BETWEEN, _AXIS = 12, 36, 26, 42
_PIN, _STEM, _ROWS = 24, 10, 3  # rows of pins above the host lane
_CHAR = 6.3
_LEAST = 1.2  # pixels: shorter bars could not be seen


class Bar(NamedTuple):
    kind: str
    x: float
    y: float
    width: float
    height: float
    says: str


class Pin(NamedTuple):
    """A label above the host lane; one without room has no text."""

    x: float
    y: float
    row: int
    """From the host lane up."""
    width: float
    text: str
    says: str


class Tick(NamedTuple):
    x: float
    text: str


class Lane(NamedTuple):
    y: float
    words: tuple[tuple[float, str], ...]
    """The name, word by word, each with its baseline."""


class Drawing(NamedTuple):
    width: float
    height: float
    left: float
    inner: float
    top: float
    bottom: float
    lane: float
    lanes: tuple[Lane, ...]
    ticks: tuple[Tick, ...]
    veils: tuple[Bar, ...]
    bars: tuple[Bar, ...]
    pins: tuple[Pin, ...]


def draw(spans: Sequence[Span], name: str) -> Drawing:
    """The drawing of a step's bars (at least one)."""
    end = max(span.end for span in spans) or 1.0
    stops = [span for span in spans if span.kind in ("wait", "fallback")]
    width = max(_WIDTH, _LEFT + _RIGHT + len(stops) * 40, _LEFT + _RIGHT + len(spans) * 3)
    scale = (width - _LEFT - _RIGHT) / end
    pins = _pins(stops, scale)
    above = _PIN * max((pin.row + 1 for pin in pins), default=0)
    host = _MARGIN + above + (_STEM if above else 0)
    device = host + _LANE + _BETWEEN
    return Drawing(
        width=width,
        height=device + _LANE + _AXIS,
        left=_LEFT,
        inner=width - _LEFT - _RIGHT,
        top=host,
        bottom=device + _LANE,
        lane=_LANE,
        lanes=(_lane(host, "host"), _lane(device, name)),
        ticks=tuple(Tick(_x(moment, scale), _moment(moment)) for moment in _ticks(end)),
        veils=tuple(_veil(span, scale, host) for span in stops),
        bars=tuple(_bar(span, scale, host if span.lane == "host" else device) for span in spans),
        pins=tuple(pin._replace(y=host - _STEM - _PIN * (pin.row + 1)) for pin in pins),
    )


def _x(moment: float, scale: float) -> float:
    return _LEFT + moment * scale


def _lane(top: float, name: str) -> Lane:
    words = name.split(" ") if len(name) > 9 else [name]
    first = top + _LANE / 2 + 4 - 7 * (len(words) - 1)
    return Lane(top, tuple((first + 15 * index, word) for index, word in enumerate(words)))


def _ticks(end: float) -> list[float]:
    step = 1.0
    while end / step > 10:
        step *= 2.5 if str(step)[0] == "2" else 2
    return [step * i for i in range(int(end / step) + 1)]


def _moment(microseconds: float) -> str:
    if microseconds >= 1000:
        return f"{microseconds / 1000:g} ms"
    return f"{microseconds:g} µs"


def _veil(span: Span, scale: float, host: float) -> Bar:
    """A veil over both lanes while the host stands still."""
    x, width = _x(span.start, scale), max((span.end - span.start) * scale, _LEAST)
    return Bar("veil", x, host, width, 2 * _LANE + _BETWEEN, "")


def _bar(span: Span, scale: float, lane: float) -> Bar:
    x, width = _x(span.start, scale), (span.end - span.start) * scale
    width = max(width - (0.8 if width > 3 else 0.0), _LEAST)
    place = f"{os.path.basename(span.event.file)}:{span.event.line}"
    return Bar(span.kind, x, lane + 5, width, _LANE - 10, f"{span.event.in_words()}\n{place}")


def _pins(stops: Sequence[Span], scale: float) -> list[Pin]:
    """Labels above the host lane, each in the lowest row that has room; `y` is not known yet."""
    pins = []
    row_ends = [0.0] * _ROWS
    for span in stops:
        text = f"line {span.event.line}"
        x = _x((span.start + span.end) / 2, scale)
        width = max(len(text) * _CHAR + 12, 44)
        row = next((i for i, end in enumerate(row_ends) if x - width / 2 > end + 3), None)
        if row is None:
            pins.append(Pin(x, 0, 0, 0, "", span.event.in_words()))
            continue
        row_ends[row] = x + width / 2
        pins.append(Pin(x, 0, row, width, text, span.event.in_words()))
    return pins
