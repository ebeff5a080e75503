"""What the script says by ``logging``, wherever that goes: a result may be told nowhere else."""

from __future__ import annotations

import logging
import os
import threading

from .frames import LIBRARIES

MOST_LINES = 5000
LONGEST = 2000

LINES: list[str] = []
_lock = threading.Lock()


def install() -> None:
    """Keep the messages that code of the user's own logs, and that some handler hears."""
    hand_on = logging.Logger.callHandlers
    process = os.getpid()

    def heard(self: logging.Logger, record: logging.LogRecord) -> None:
        mine = os.getpid() == process and not record.pathname.startswith(LIBRARIES)
        if mine and len(LINES) < MOST_LINES:
            _keep(record)
        hand_on(self, record)

    logging.Logger.callHandlers = heard  # type: ignore[method-assign]


def _keep(record: logging.LogRecord) -> None:
    try:
        said = record.getMessage()
    except Exception:  # the handler complains about it, as it does without us
        return
    with _lock:
        LINES.append(said[:LONGEST])
