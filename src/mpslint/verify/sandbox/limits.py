"""Resource limits of the command: each one that the system refuses is left out and not claimed."""

from __future__ import annotations

import os
import resource
import sys


def apply(memory: int, processes: int, file_size: int) -> dict[str, bool]:
    """Set the limits of this process (bytes, a count, bytes); which of them hold now."""
    held = {
        # macOS takes the number and ignores it.
        "memory": memory > 0 and sys.platform == "linux" and _limit("RLIMIT_AS", memory),
        # The kernel exempts root, whatever the limit says.
        "processes": os.getuid() != 0 and _limit("RLIMIT_NPROC", processes),
        "file_size": _limit("RLIMIT_FSIZE", file_size),
    }
    _limit("RLIMIT_CORE", 0)
    return held


def _limit(name: str, value: int) -> bool:
    number = getattr(resource, name, None)
    if number is None:
        return False
    ceiling = resource.getrlimit(number)[1]
    if ceiling != resource.RLIM_INFINITY:
        value = min(value, ceiling)
    try:
        resource.setrlimit(number, (value, value))
    except (OSError, ValueError):
        return False
    return resource.getrlimit(number)[0] == value
