"""The JSON report: what it says, and that it is given once."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
import time
import traceback as traceback_module
from types import TracebackType
from typing import Any

from . import log_lines
from .channel import Send
from .frames import raised_by_user, traceback_location
from .options import Options
from .probes import lines_reached
from .recorder import MAX_STEPS, RECORDER, Recorder

SCHEMA = 1


def without_harness(traceback: TracebackType | None) -> TracebackType | None:
    """The traceback from the user's first frame on."""
    here = os.path.dirname(os.path.abspath(__file__))
    start = traceback
    while start is not None and start.tb_frame.f_code.co_filename.startswith(here):
        start = start.tb_next
    return start or traceback


def describe_error(error: BaseException) -> dict[str, Any]:
    """Type, message, place in the user's code and traceback text of an exception; and whether that
    code raised it by a statement of its own."""
    file, line = traceback_location(error.__traceback__)
    if isinstance(error, SyntaxError) and error.filename:
        file, line = error.filename, error.lineno or 0
    shown = without_harness(error.__traceback__)
    lines = traceback_module.format_exception(type(error), error, shown)
    return {
        "type": type(error).__name__,
        "message": str(error),
        "file": file,
        "line": line,
        "traceback": "".join(lines)[-20_000:],
        "own": raised_by_user(error.__traceback__),
    }


def _rows(recorder: Recorder) -> dict[str, list[dict[str, Any]]]:
    syncs = [
        {"file": file, "line": line, "op": name, "count": count}
        for (file, line, name), count in recorder.syncs.most_common()
    ]
    copies = [
        {"file": file, "line": line, "direction": direction, "count": count, "bytes": size}
        for (file, line, direction), (count, size) in sorted(
            recorder.copies.items(), key=lambda item: -item[1][1]
        )
    ]
    fallbacks = [
        {"op": name, "file": file, "line": line, "count": count}
        for (name, file, line), count in recorder.fallbacks.most_common()
    ]
    return {"syncs": syncs, "copies": copies, "fallbacks": fallbacks}


def _torch_version() -> str | None:
    version = getattr(sys.modules.get("torch"), "__version__", None)
    return str(version) if version else None


def _memory() -> dict[str, int]:
    # Looked up, not imported: a report must not be what loads torch.
    memory = sys.modules.get(f"{__package__}.simulator.memory")
    if memory is None:
        return {"allocated": 0, "peak": 0}
    return {"allocated": memory.TRACKER.current(), "peak": memory.TRACKER.peak}


def _placement() -> list[list[Any]]:
    placement = sys.modules.get(f"{__package__}.placement")
    return [] if placement is None else list(placement.rows())


class ReportWriter:
    """Writes the report once, whoever asks first."""

    def __init__(self, options: Options, send: Send | None = None) -> None:
        self.options = options
        self.send = send
        self.process = os.getpid()
        self._lock = threading.RLock()
        self._written = False
        self._children: list[dict[str, Any]] = []

    def build(
        self, outcome: str, exit_code: int | None, error: dict[str, Any] | None
    ) -> dict[str, Any]:
        """The report as plain data; ``outcome`` is one of the words of the schema."""
        recorder = RECORDER
        return {
            "schema": SCHEMA,
            "device": self.options.device,
            "kind": self.options.kind,
            "torch": _torch_version(),
            "python": sys.version.split()[0],
            "simulates": recorder.simulates,
            "outcome": outcome,
            "exit_code": exit_code,
            "error": error,
            "seconds": round(time.perf_counter() - recorder.started, 3),
            "steps": recorder.steps,
            "forwards": recorder.forwards,
            "device_ops": recorder.ops,
            "parameters_on_device": recorder.parameters_on_device,
            "optimizers": recorder.optimizers,
            "lines": [*lines_reached(), *recorder.lines_of_children],
            "in_part": recorder.in_part,
            "losses": recorder.losses,
            "params_digest": recorder.digests,
            "device_calls": recorder.calls,
            "clocks": recorder.clocks,
            "drawn": recorder.drawn,
            "lowered": sorted(recorder.lowered),
            "halves": sorted(recorder.halves),
            "stdout_numbers": None,
            "logged": log_lines.LINES,
            "placement": _placement(),
            **_rows(recorder),
            "switches": recorder.switches,
            "memory": _memory(),
            "step_costs": recorder.step_rows,
            "limits": list(recorder.limits),
            "notes": list(recorder.notes),
            "self_test": recorder.self_test,
            "events": sorted(recorder.events, key=lambda event: event["t"]),
            "from_children": recorder.from_children,
            "told_steps": MAX_STEPS,
        }

    def write(
        self,
        outcome: str,
        exit_code: int | None = None,
        error: dict[str, Any] | None = None,
        status: int = 0,
    ) -> None:
        """Write the report atomically, or tell it with the exit status that will follow; later
        calls, and calls in forked children, do nothing."""
        if os.getpid() != self.process:
            return
        with self._lock:
            if self._written:
                return
            self._written = True
            data = self.build(outcome, exit_code, error)
            if self.options.report:
                write_json(self.options.report, data)
            if self.send is not None:
                self.send({"end": data, "status": status})


def write_json(path: str, data: dict[str, Any]) -> None:
    """Replace ``path`` by ``data`` in one step, so that no reader sees half a file."""
    folder = os.path.dirname(path) or "."
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=".report-", suffix=".json")
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        json.dump(data, stream, allow_nan=True)
    os.replace(temporary, path)
