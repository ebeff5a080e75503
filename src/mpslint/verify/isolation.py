"""The sandbox's measurements in words: what was in force, and, honestly, what was not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mpslint.verify.report import Isolation


def describe(measured: Mapping[str, Any], memory: int, timeout: float, processes: int) -> Isolation:
    """`measured` is what the sandbox found out just before the script started (empty: nothing was
    run).
    """
    if not measured:
        return Isolation()
    held, missing = [], []
    for key, good, bad in (
        ("network", "no network", "network"),
        ("writes", "only the copy can be written", "files outside the copy can be written"),
        ("home", "the home folder is hidden", "the home folder can be read"),
        (
            "orphans",
            "left-over processes are ended",
            "a process that detaches itself may outlive the run",
        ),
    ):
        way = measured.get(key)
        if way:
            held.append(f"{good} ({way})")
        else:
            missing.append(bad + (f" ({measured['refused']})" if measured.get("refused") else ""))
    each = " and per process" if measured.get("memory") else ""
    held.append(f"memory {memory >> 20} MB in sum{each}")
    held.append(f"at most {processes} processes and threads")
    held += [f"time limit {timeout:g} s per run", "own HOME and TMPDIR", "environment allow-list"]
    held += ["stdin closed", "output capped"]
    if not measured.get("nothing_left", True):
        missing.append("a process of the script could not be ended")
    return Isolation(tuple(held), tuple(missing))
