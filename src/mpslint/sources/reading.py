"""Read a source file from disk, with one clear reason when that cannot be done."""

from __future__ import annotations

import os
import time

from mpslint.errors import BadSource, reason_of
from mpslint.sources.files import read_regular

_ONLY_AST = 0x400  # ast.PyCF_ONLY_AST
RECENT_NS = 2_000_000_000
"""A file changed so shortly before it was read could change again within one clock tick."""
ABSENT, UNSURE = (0, -1), (-1, -1)
"""Signs of files that are not there, and of files by whose time nothing can be known."""


def read_bytes(path: str, limit: int = 0) -> bytes:
    """The file's bytes, at most `limit` (0: any number). Raises `BadSource`."""
    try:
        return read_regular(path, limit)
    except OSError as error:
        raise BadSource(path, f"cannot be read: {reason_of(error)}") from None


def too_large(size: int, limit: int) -> str | None:
    """Why a file of `size` bytes is skipped under `max-file-size`; None when it is not."""
    if not limit or size <= limit:
        return None
    return f"skipped: {size:,} bytes, and max-file-size is {limit:,}"


def check_syntax(path: str, data: bytes) -> None:
    """Raise `BadSource` for a file that is no Python, without importing the parser's module."""
    if _compiles(path, data):
        return
    from mpslint.sources.opening import open_source

    open_source(path, data).parse(strictly=True)


def _compiles(path: str, data: bytes) -> bool:
    """Whether Python takes these bytes as they are; if not, the reason is found elsewhere."""
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(data, path, "exec", _ONLY_AST, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def sign_of(path: str) -> tuple[int, int]:
    """Time and size of a file, by which a change is known: `ABSENT` where there is none, `UNSURE`
    where it changed so shortly before that it could change again within one tick of the clock."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):  # ValueError: no name of a file at all
        return ABSENT
    if time.time_ns() - status.st_mtime_ns < RECENT_NS:
        return UNSURE
    return status.st_mtime_ns, status.st_size
