"""Host waits, and ``torch.cuda.set_sync_debug_mode``, which makes them visible or fatal."""

from __future__ import annotations

import warnings

from ..frames import Location, user_location
from ..recorder import RECORDER
from . import late_copies

_MESSAGE = "called a synchronizing CUDA operation"
OFF, WARN, ERROR = 0, 1, 2


# A list, since names and attributes of the harness that change are taken for a script's doing.
_mode = [OFF]


def get_mode() -> int:
    """0 (default), 1 (warn) or 2 (error)."""
    return _mode[0]


def set_mode(mode: int) -> None:
    """What ``torch.cuda.set_sync_debug_mode`` calls."""
    warnings.warn(
        "Synchronization debug mode is a prototype feature and does not yet detect all "
        "synchronizing operations",
        stacklevel=3,
    )
    _mode[0] = mode


def wait(name: str, count: int = 1) -> None:
    """Count ``count`` waits of the host at the user's current line; warn or raise if asked to."""
    place = user_location()
    RECORDER.sync(name, count, place)
    late_copies.end()
    if _mode[0]:
        _complain(count, place)


def _complain(count: int, place: Location) -> None:
    if _mode[0] == ERROR:
        raise RuntimeError(_MESSAGE)
    for _ in range(count):
        warnings.warn_explicit(_MESSAGE, UserWarning, place[0], place[1])
