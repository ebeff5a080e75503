"""Reads what `mpslint verify` and `mpslint trace` wrote with `--output-format json`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from mpslint.errors import MpslintError, reason_of
from mpslint.sources.files import read_regular
from mpslint.verify.changed_lines import ChangedLine
from mpslint.verify.report import (
    FAIL,
    INCONCLUSIVE,
    PARTIAL,
    PASS,
    RAN,
    SKIPPED,
    Isolation,
    Report,
    Run,
)
from mpslint.verify.timeline import Event, Step
from mpslint.verify.tracing import Line, Trace

_MOST = 256 << 20
_VERDICTS = (PASS, PARTIAL, RAN, FAIL, INCONCLUSIVE, SKIPPED)
_Read = TypeVar("_Read")


class BadRecord(MpslintError):
    """A file that is not what the command writes."""


def read_report(path: str) -> Report:
    """The verdict in a file. Raises `BadRecord`."""
    return _read(path, "verify", _report)


def read_trace(path: str) -> Trace:
    """The trace in a file. Raises `BadRecord`."""
    return _read(path, "trace", _trace)


def _read(path: str, command: str, convert: Callable[[Mapping[str, Any]], _Read]) -> _Read:
    try:
        return convert(json.loads(read_regular(path, _MOST)))
    except OSError as error:
        raise BadRecord(f"{path}: cannot be read: {reason_of(error)}") from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise BadRecord(
            f"{path}: is not what mpslint {command} writes; make it by "
            f"`mpslint {command} SCRIPT --output-format json > {path}`"
        ) from None


def _report(data: Mapping[str, Any]) -> Report:
    return Report(
        script=_text(data["script"]),
        runs=tuple(_run(row) for row in data["runs"]),
        verdict=_verdict(data["verdict"]),
        reason=_text(data["reason"]),
        isolation=_isolation(data["isolation"]),
        control=_text(data["control"]),
        notes=_texts(data["notes"]),
        seconds=float(data["seconds"]),
        lines=tuple(_changed_line(row) for row in data.get("changed_lines", ())),
    )


def _changed_line(row: Mapping[str, Any]) -> ChangedLine:
    return ChangedLine(
        _text(row["file"]), int(row["line"]), _text(row["state"]), _texts(row["devices"])
    )


def _run(row: Mapping[str, Any]) -> Run:
    return Run(
        device=_text(row["device"]),
        kind=_text(row["kind"]),
        verdict=_verdict(row["verdict"]),
        reason=_text(row["reason"]),
        seconds=float(row["seconds"]),
        error=row["error"],
        syncs=_rows(row["syncs"]),
        copies=_rows(row["copies"]),
        fallbacks=_rows(row["fallbacks"]),
        notes=_texts(row["notes"]),
        left_out=_texts(row.get("left_out", ())),
    )


def _trace(data: Mapping[str, Any]) -> Trace:
    return Trace(
        script=_text(data["script"]),
        device=_text(data["device"]),
        kind=_text(data["kind"]),
        ok=bool(data["ok"]),
        reason=_text(data["reason"]),
        step=_step(data),
        operations=int(data["operations"]),
        lines=tuple(_line(row) for row in data["lines"]),
        steps=tuple(
            {str(key): float(value) for key, value in row.items()} for row in data["steps"]
        ),
        notes=_texts(data["notes"]),
        isolation=_isolation(data["isolation"]),
    )


def _step(data: Mapping[str, Any]) -> Step:
    events = tuple(_event(row) for row in data["events"])
    return Step(_text(data["step"]), events, bool(data["follows"]))


def _event(row: Mapping[str, Any]) -> Event:
    return Event(
        moment=float(row["moment"]),
        kind=_text(row["kind"]),
        name=_text(row["name"]),
        file=_text(row["file"]),
        line=int(row["line"]),
        duration=float(row["duration"]),
        bytes=int(row["bytes"]),
        step=int(row["step"]),
    )


def _line(row: Mapping[str, Any]) -> Line:
    numbers = {key: int(row[key]) for key in ("waits", "copies", "bytes", "fallbacks")}
    return Line(
        file=_text(row["file"]),
        line=int(row["line"]),
        source=_text(row["source"]),
        operations=int(row["operations"]),
        what=_texts(row["what"]),
        advice=_texts(row["advice"]),
        **numbers,
    )


def _isolation(row: Mapping[str, Any]) -> Isolation:
    return Isolation(_texts(row["in_force"]), _texts(row["not_isolated"]))


def _rows(value: Any) -> list[dict[str, Any]]:
    return [dict(row) for row in value]


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(_text(item) for item in value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


def _verdict(value: Any) -> str:
    if value not in _VERDICTS:
        raise ValueError("no verdict")
    return str(value)
