"""Read files that somebody else may have put there: regular ones only, and never without an end.

A pipe waits for a writer, `/dev/zero` has no end, and opening a device can set something off. So
the kind is asked before and after the file is opened, opening never waits, and no more is read
than was asked for.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

VERSIONED = (".git", ".hg", ".jj")
BUILT = ("pyproject.toml", "setup.py", "setup.cfg")
"""What lies in the head of a project: it is versioned there, or built from there."""
_UNLIMITED = 1 << 62
_CHUNK = 1 << 20


def spoken_path(path: str, root: str | None = None) -> str:
    """A file as messages name it: from the project's folder `root`, or from the current one; by its
    whole path where it lies below neither."""
    path = os.path.abspath(path)
    for folder in (root, "."):
        if folder is not None:
            above = os.path.join(os.path.abspath(folder), "")
            if path.startswith(above):
                return path[len(above) :].replace(os.sep, "/")
    return path


def read_regular(path: str, limit: int = 0, *, follow: bool = True) -> bytes:
    """The bytes of the regular file at `path`, of which there are at most `limit` (0: any number).

    Without `follow` a link is not one, whatever it names. Raises `OSError`, whose `strerror` says
    why in words.
    """
    _require_regular(path, os.stat(path, follow_symlinks=follow), limit)
    opener = _open if follow else _open_no_link
    # Unbuffered: one system call less for each of many thousand files.
    with open(path, "rb", buffering=0, opener=opener) as file:
        status = os.fstat(file.fileno())
        _require_regular(path, status, limit)
        # Files of the system say that they are empty, and are not.
        most = limit or _UNLIMITED
        parts = []
        size = 0
        ask = status.st_size + 1
        while part := file.read(min(ask, most + 1 - size)):
            parts.append(part)
            size += len(part)
            if size > most:
                raise _refused(path, _too_large(limit))
            ask = max(status.st_size + 1 - size, _CHUNK) if size > status.st_size else 1
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _require_regular(path: str, status: os.stat_result, limit: int) -> None:
    if not stat.S_ISREG(status.st_mode):
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        raise _refused(path, "not a regular file")
    if limit and status.st_size > limit:
        raise _refused(path, _too_large(limit))


def _too_large(limit: int) -> str:
    return f"larger than {limit:,} bytes"


def _refused(path: str, why: str) -> OSError:
    return OSError(errno.EINVAL, why, path)


def _open(path: str, flags: int) -> int:
    return os.open(path, flags | _NO_WAIT)


def _open_no_link(path: str, flags: int) -> int:
    return os.open(path, flags | _NO_WAIT | getattr(os, "O_NOFOLLOW", 0))


_NO_WAIT = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)


def files_below(top: str, enter: Callable[[str], bool] | None = None) -> Iterator[str]:
    """The paths of all that is no folder below `top`; links to folders are left out, not followed.

    `enter` is asked before a folder is listed. However deep folders lie, nothing is called deeper.
    """
    folders = [top]
    while folders:
        try:
            with os.scandir(folders.pop()) as listing:
                entries = list(listing)
        except OSError:
            continue
        for entry in entries:
            try:
                if not entry.is_dir():
                    yield entry.path
                elif not entry.is_symlink() and (enter is None or enter(entry.path)):
                    folders.append(entry.path)
            except OSError:  # a link to itself
                yield entry.path
