"""Launches at the same time, as many as the machine has room for."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from mpslint.verify.launch import Launch
from mpslint.verify.workshop import Workshop

_What = TypeVar("_What")
_LONG = 20.0  # seconds
_THREADS = 4  # of a run: see `environment`
_MORE = 1.5  # a simulated device may need more memory than the run that was measured


def width(wanted: int, before: Launch | None, memory: int) -> int:
    """How many launches fit, by what the one before needed and what all together may take."""
    if before is None or wanted < 2:
        return 1
    each = max(before.ended.peak_memory, 1) * _MORE
    processors = _processors()
    if before.seconds > _LONG:  # no longer the start of torch, which is one thread's work
        processors //= min(processors, _THREADS)
    return max(1, min(wanted, processors, int(memory / each)))


def _processors() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on a Mac
        return os.cpu_count() or 1


def launched(
    workshop: Workshop,
    what: Sequence[_What],
    launch: Callable[[Workshop, _What], Launch],
    width: int,
) -> list[Launch]:
    """One launch for each, in the order of `what`; whatever interrupts this ends all of them."""
    if width < 2:
        return [launch(workshop, one) for one in what]
    workshop.clear()
    rooms = [workshop.beside(number) for number in range(len(what))]
    with ThreadPoolExecutor(width) as pool:
        started = [pool.submit(launch, room, one) for room, one in zip(rooms, what, strict=True)]
        try:
            done = [one.result() for one in started]
        except BaseException:
            workshop.stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    for room in rooms:
        room.clear()
    return done
