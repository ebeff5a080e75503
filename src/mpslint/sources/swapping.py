"""Swap two files in one step, where the system can: nothing that lies at either name is ever lost.

A rename takes the place of whatever is there by then. After a swap that lies under the other name,
can be looked at, and can be put back.
"""

from __future__ import annotations

import errno
import functools
import os
import sys
from collections.abc import Callable

_SWAP = 2
"""RENAME_EXCHANGE of Linux and RENAME_SWAP of macOS alike."""


def swap(one: str, other: str) -> bool:
    """Let two names of a folder change their files; False where the system or the disk cannot.

    Raises `OSError` where one of them is not there.
    """
    call = _call()
    if call is None:
        return False
    number = call(os.fsencode(one), os.fsencode(other))
    if number == errno.ENOENT:
        raise FileNotFoundError(number, os.strerror(number), other)
    return number == 0


@functools.cache
def _call() -> Callable[[bytes, bytes], int] | None:
    """What swaps two paths and answers with the number of the error, 0 for none."""
    if sys.platform == "win32":
        return None
    try:
        import ctypes

        library = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "darwin":
            function, here = library.renamex_np, ()
        else:
            function, here = library.renameat2, (-100,)  # AT_FDCWD: as any other path
    except (ImportError, OSError, AttributeError):
        return None

    def call(one: bytes, other: bytes) -> int:
        failed = function(*here, one, *here, other, _SWAP)
        return ctypes.get_errno() if failed else 0

    return call
