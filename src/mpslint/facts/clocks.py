"""Functions of Python's own library that say what time it is, or how long a process has run."""

from __future__ import annotations

CLOCKS = (
    "time.time",
    "time.perf_counter",
    "time.monotonic",
    "time.process_time",
    "time.time_ns",
    "time.perf_counter_ns",
    "time.monotonic_ns",
    "time.process_time_ns",
    "timeit.default_timer",
    "datetime.datetime.now",
    "datetime.datetime.utcnow",
)
