"""The two lanes of a trace as an SVG drawing, with a numbered pin for whatever stops the host."""

from __future__ import annotations

import os
from collections.abc import Sequence
from html import escape

from mpslint.verify.timeline import Span

_LEFT, _RIGHT, _WIDTH = 92, 24, 1130
_HOST, _DEVICE, _LANE = 96, 158, 36
_BOTTOM = 224
_PIN, _ROWS = 62, 3  # room that a pin's label needs, and rows to put pins in
_CHAR = 6.3
_LEAST = 1.2  # pixels: shorter bars could not be seen


def draw(spans: Sequence[Span], device: str) -> str:
    end = max(span.end for span in spans) or 1.0
    pins = [span for span in spans if span.kind in ("wait", "fallback")]
    width = max(_WIDTH, _LEFT + _RIGHT + len(pins) * 40, _LEFT + _RIGHT + len(spans) * 3)
    scale = (width - _LEFT - _RIGHT) / end
    parts = [_frame(width, device, end, scale)]
    parts += [_wash(span, scale) for span in pins]
    parts += [_bar(span, scale) for span in spans]
    parts += _pins(pins, scale)
    return (
        f'<svg width="{width:.0f}" height="{_BOTTOM}" viewBox="0 0 {width:.0f} {_BOTTOM}" '
        f'role="img" aria-label="Host and device during one step">{"".join(parts)}</svg>'
    )


def _x(moment: float, scale: float) -> float:
    return _LEFT + moment * scale


def _frame(width: float, device: str, end: float, scale: float) -> str:
    inner = width - _LEFT - _RIGHT
    parts = []
    for top, name in ((_HOST, "host"), (_DEVICE, device)):
        parts.append(f'<rect class="lane" x="{_LEFT}" y="{top}" width="{inner}" height="{_LANE}"/>')
        words = name.split(" ") if len(name) > 9 else [name]
        first = top + _LANE / 2 + 4 - 7 * (len(words) - 1)
        parts += [
            f'<text x="{_LEFT - 10}" y="{first + 15 * i:.0f}" text-anchor="end">'
            f"{escape(word)}</text>"
            for i, word in enumerate(words)
        ]
    for moment in _ticks(end):
        x = _x(moment, scale)
        parts.append(
            f'<line class="rule" x1="{x:.1f}" x2="{x:.1f}" y1="{_HOST}" '
            f'y2="{_DEVICE + _LANE + 4}"/>'
            f'<text class="soft" x="{x:.1f}" y="{_DEVICE + _LANE + 20}" text-anchor="middle">'
            f"{_moment(moment)}</text>"
        )
    return "".join(parts)


def _ticks(end: float) -> list[float]:
    step = 1.0
    while end / step > 10:
        step *= 2.5 if str(step)[0] == "2" else 2
    return [step * i for i in range(int(end / step) + 1)]


def _moment(microseconds: float) -> str:
    if microseconds >= 1000:
        return f"{microseconds / 1000:g} ms"
    return f"{microseconds:g} µs"


def _wash(span: Span, scale: float) -> str:
    """A veil over both lanes while the host stands still."""
    x, width = _x(span.start, scale), max((span.end - span.start) * scale, _LEAST)
    return (
        f'<rect class="wash" x="{x:.1f}" y="{_HOST}" width="{width:.1f}" '
        f'height="{_DEVICE + _LANE - _HOST}"/>'
    )


def _bar(span: Span, scale: float) -> str:
    top = (_HOST if span.lane == "host" else _DEVICE) + 5
    x, width = _x(span.start, scale), (span.end - span.start) * scale
    width = max(width - (0.8 if width > 3 else 0.0), _LEAST)
    place = f"{os.path.basename(span.event.file)}:{span.event.line}"
    return (
        f'<rect class="{span.kind}" x="{x:.1f}" y="{top}" width="{width:.1f}" '
        f'height="{_LANE - 10}" rx="1.5"><title>{escape(span.event.in_words())}\n{escape(place)}'
        "</title></rect>"
    )


def _pins(pins: Sequence[Span], scale: float) -> list[str]:
    """Labels above the host lane: each in the lowest row that has room for it."""
    parts = []
    row_ends = [0.0] * _ROWS
    for span in pins:
        text = f"line {span.event.line}"
        x = _x((span.start + span.end) / 2, scale)
        width = max(len(text) * _CHAR + 12, 44)
        row = next((i for i, end in enumerate(row_ends) if x - width / 2 > end + 3), None)
        tone = "hot" if span.kind == "fallback" else ""
        if row is None:
            parts.append(f'<circle class="pin {tone}" cx="{x:.1f}" cy="{_HOST - 8}" r="3"/>')
            continue
        row_ends[row] = x + width / 2
        y = _HOST - 28 - row * 24
        parts.append(
            f'<line class="lead" x1="{x:.1f}" x2="{x:.1f}" y1="{y + 18}" y2="{_HOST}"/>'
            f'<rect class="pin hot" x="{x - width / 2:.1f}" y="{y}" width="{width:.1f}" '
            f'height="18" rx="9"/><text class="num" x="{x:.1f}" y="{y + 13}">{text}'
            f"<title>{escape(span.event.in_words())}</title></text>"
        )
    return parts
