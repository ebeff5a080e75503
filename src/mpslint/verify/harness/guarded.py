"""Attributes that only this package may set: a script that sets them by mistake, or to look better
than it is, gets an error, and the run proves nothing any more.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

_HERE = os.path.dirname(__file__) + os.sep


class Guarded:
    """Base of what counts during a run."""

    __slots__ = ()

    def __setattr__(self, name: str, value: Any) -> None:
        file = sys._getframe(1).f_code.co_filename
        if not file.startswith(_HERE):
            on_change(name)
            raise AttributeError(f"{name}: only the launcher may set it")
        object.__setattr__(self, name, value)


on_change: Callable[[str], None] = lambda _name: None  # noqa: E731
"""Hears which attribute somebody else tried to set."""


def listen(hear: Callable[[str], None]) -> None:
    global on_change
    on_change = hear
