"""A trace in Chrome's trace event format, which Perfetto and torch.profiler's viewers read.

As torch.profiler has it, the host and the device are a process each, categories are its own, and an
arrow leads from where an operation is handed over to where the device runs it. Times are those of
the model in `timeline`, as `otherData` says.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from mpslint import __version__
from mpslint.verify import timeline

if TYPE_CHECKING:
    from mpslint.verify.timeline import Span
    from mpslint.verify.tracing import Trace

_HOST, _DEVICE = 1, 0
"""Processes; that of the device has its index, by which torch's viewers know it."""
_CATEGORIES = {
    "queue": "cpu_op",
    "wait": "wait",
    "fallback": "cpu_op",
    "op": "kernel",
    "copy": "gpu_memcpy",
}
"""By the kinds of bars; torch.profiler has a word for all but waits."""


def render(trace: Trace) -> str:
    """The trace as a JSON document."""
    document = {
        "schemaVersion": 1,
        "displayTimeUnit": "ms",
        "traceName": f"{os.path.basename(trace.script)} on {trace.name}",
        "otherData": {
            "made by": f"mpslint {__version__}",
            "script": trace.script,
            "device": trace.name,
            "shows": trace.step.title,
            "times": "modelled, not measured; order, counts and places are what happened",
            **({} if trace.ok else {"ended early": trace.reason}),
        },
        "traceEvents": list(_events(trace)),
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _events(trace: Trace) -> Iterator[dict[str, Any]]:
    names = (
        (_HOST, os.path.basename(trace.script), "host (Python)"),
        (_DEVICE, trace.name, "queue"),
    )
    for process, name, thread in names:
        yield {**_base("process_name", "M", process), "args": {"name": name}}
        yield {**_base("process_sort_index", "M", process), "args": {"sort_index": 1 - process}}
        yield {**_base("thread_name", "M", process), "args": {"name": thread}}
    numbers: dict[int, int] = {}
    handed: dict[int, Span] = {}
    for span in timeline.lay_out(trace.step):
        number = numbers.setdefault(id(span.event), len(numbers) + 1)
        yield _bar(span, number)
        if span.kind == "queue":
            handed[number] = span
        elif span.lane == "device" and number in handed:
            yield from _arrow(number, handed.pop(number), span)


def _base(name: str, phase: str, process: int) -> dict[str, Any]:
    return {"name": name, "ph": phase, "pid": process, "tid": 0}


def _bar(span: Span, number: int) -> dict[str, Any]:
    event = span.event
    details: dict[str, Any] = {"External id": number, "file": event.file, "line": event.line}
    if event.bytes:
        details["bytes"] = event.bytes
    if span.lane == "device":
        details |= {"device": _DEVICE, "stream": 0, "correlation": number}
    return {
        **_base(event.in_words(), "X", _HOST if span.lane == "host" else _DEVICE),
        "cat": _CATEGORIES[span.kind],
        "ts": span.start,
        "dur": span.end - span.start,
        "args": details,
    }


def _arrow(number: int, start: Span, end: Span) -> Iterator[dict[str, Any]]:
    """From the host's call to the device's work, as torch.profiler draws it."""
    common = {"cat": "ac2g", "id": number}
    yield {**_base("ac2g", "s", _HOST), **common, "ts": start.start}
    yield {**_base("ac2g", "f", _DEVICE), **common, "ts": end.start, "bp": "e"}
