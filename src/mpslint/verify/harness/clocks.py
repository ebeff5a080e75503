"""What the device was doing whenever the script read a clock.

A clock that is read while the device still works measures how fast work is handed over, not how
fast it is done. No simulation shows that in the numbers, since those of a clock are never the same.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable
from typing import Any

from .frames import is_user_code
from .recorder import RECORDER

_CLOCKS = ("time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns")


def install() -> None:
    """Watch the clocks that the user's own code reads."""
    for name in _CLOCKS:
        setattr(time, name, _watched(getattr(time, name)))


def _watched(clock: Callable[[], Any]) -> Callable[[], Any]:
    @functools.wraps(clock)
    def read() -> Any:
        if is_user_code(sys._getframe(1).f_code):
            RECORDER.clock_was_read()
        return clock()

    return read
