"""The cyclic garbage collector, switched off while files are checked.

What a check makes (tree, index, values, findings) holds no reference cycles, so all of it is given
back when the last reference goes; the collector would walk every tree several times over. Should
a cycle come in after all, what it holds is bounded: see `checked`.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_COLLECT_AFTER = 32_000_000
"""Bytes of source; a tree and what is known of it take some hundred times the bytes of the file."""
_since = 0


@contextmanager
def off() -> Iterator[None]:
    """Off within the block, afterwards as it was."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def checked(size: int) -> None:
    """Count the bytes of a file that was parsed; now and then look for cycles all the same."""
    global _since
    _since += size
    if _since >= _COLLECT_AFTER:
        _since = 0
        gc.collect()
