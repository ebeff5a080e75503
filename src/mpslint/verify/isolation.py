"""The sandbox's measurements in words: what was in force, and, honestly, what was not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mpslint.verify.report import Isolation

# What was measured: in words when it held, and when it did not.
_LINES = (
    ("network", "no network", "network"),
    ("writes", "only the copy can be written", "files outside the copy can be written"),
    (
        "metadata",
        "modes and times elsewhere cannot be changed",
        "modes, times or attributes of files outside the copy can be changed",
    ),
    ("home", "the home folder is hidden", "the home folder can be read"),
    ("sockets", "no sockets of other programs", "sockets of other programs can be reached"),
    (
        "signals",
        "other processes cannot be signalled",
        "other processes of this user can be signalled and ended",
    ),
    ("shared", "own shared memory", "shared memory of other programs can be read and written"),
    (
        "orphans",
        "left-over processes are ended",
        "a process that detaches itself may outlive the run",
    ),
)
_SHOWN = 4


def describe(
    measured: Mapping[str, Any], memory: int, timeout: float, processes: int, disk: int
) -> Isolation:
    """`measured` is what the sandbox found out just before the script started (empty: nothing was
    run).
    """
    if not measured:
        return Isolation()
    held, missing = [], []
    why = f" ({measured['refused']})" if measured.get("refused") else ""
    for key, good, bad in _LINES:
        if way := measured.get(key):
            but = _but_for(measured.get("shown", ())) if key == "home" else ""
            held.append(f"{good}{but} ({way})")
        else:
            open_ = ", ".join(measured.get("open", ())) if key == "home" else ""
            missing.append(bad + (f": {open_}" if open_ else "") + why)
    each = " and per process" if measured.get("memory") else ""
    held.append(f"memory {memory >> 20} MB in sum{each}")
    held.append(f"disk {disk >> 20} MB")
    held.append(f"at most {processes} processes and threads")
    held += [f"time limit {timeout:g} s per run", "own HOME and TMPDIR", "environment allow-list"]
    held += ["stdin closed", "output capped"]
    if not measured.get("nothing_left", True):
        missing.append("a process of the script could not be ended")
    return Isolation(tuple(held), tuple(missing))


def _but_for(shown: Sequence[str]) -> str:
    """What stays to be seen of the home folder, because the script's Python needs it."""
    if not shown:
        return ""
    more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    return f" but for {', '.join(shown[:_SHOWN])}{more}"
