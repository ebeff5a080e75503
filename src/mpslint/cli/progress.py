"""A line on the terminal that says how far a long run is."""

from __future__ import annotations

import sys
import time

_QUIET = 1.0
"""Seconds without a line: a short run shows none."""
_EVERY = 0.1


class Progress:
    """Shown on stderr where that is a terminal; wiped out at the end."""

    def __init__(self) -> None:
        self._next = time.monotonic() + _QUIET
        self._width = 0

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _EVERY
        self._show(f"checked {done:,} of {total:,} files")

    def _show(self, text: str) -> None:
        print(f"\r{text:<{self._width}}\r", end="", file=sys.stderr, flush=True)
        self._width = len(text)

    def clear(self) -> None:
        if self._width:
            self._show("")
            self._width = 0
