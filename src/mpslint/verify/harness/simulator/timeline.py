"""One event per kernel, for ``--trace``."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ..frames import user_location
from ..recorder import RECORDER


def traced(name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Record when the kernel ran, for how long, and for which line of the user's."""

    def timed(*args: Any, **kwargs: Any) -> Any:
        began = time.perf_counter()
        try:
            return kernel(*args, **kwargs)
        finally:
            duration = time.perf_counter() - began
            RECORDER.event("op", name, user_location(), duration=duration, began=began)

    return timed
