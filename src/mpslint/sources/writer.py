"""Replace a file as a whole or not at all.

The new bytes go to a temporary file in the same folder, are flushed to the disk, and take the
old file's place in one step; its mode is kept. What somebody else saves meanwhile stays: the two
are swapped where the system can, and swapped back where another file than the old one came out. A
symlink is followed to the file it names. A file with several hard links is refused: taking its
place would part the names, and writing into it could be ended halfway.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from collections.abc import Iterator
from typing import BinaryIO

from mpslint.errors import CannotWrite, reason_of
from mpslint.sources.files import read_regular
from mpslint.sources.swapping import swap

try:
    import fcntl
except ImportError:  # a system without locks of this kind
    fcntl = None  # type: ignore[assignment]

_LOCKS = fcntl is not None
_CHANGED = "has changed since it was read; run mpslint again"
_TRIES = 10
_TEMPORARY = re.compile(r"\.(?P<base>.{1,40})\.[a-z0-9_]{8}\.mpslint", re.DOTALL)


def replace(path: str, before: bytes, after: bytes) -> None:
    """Make the file at `path`, which must still hold `before`, hold `after`.

    Where it holds `after` by now (another run was sooner), nothing is done. Raises `CannotWrite`
    when it is not possible; the file then holds what it held.
    """
    real = os.path.realpath(path)
    try:
        status = os.stat(real)
        now = read_regular(real)
    except OSError as error:
        raise CannotWrite(path, f"cannot be read again: {reason_of(error)}") from None
    if now == after:
        return
    if now != before:
        raise CannotWrite(path, _CHANGED)
    if not status.st_mode & stat.S_IWUSR:
        # os.replace would succeed all the same, and so would root: a file that its owner
        # made read-only is left alone.
        raise CannotWrite(path, "is read-only; make it writable first")
    if status.st_nlink > 1:
        raise CannotWrite(
            path,
            f"has {status.st_nlink} names (hard links), which cannot be changed in one step; make "
            "it a file of its own first (cp -p FILE NEW && mv NEW FILE)",
        )
    try:
        with _written(real, after) as temporary:
            with contextlib.suppress(OSError, AttributeError):
                os.chown(temporary, status.st_uid, status.st_gid)
            os.chmod(temporary, stat.S_IMODE(status.st_mode))
            if not _take_place(temporary, real, before, after) and read_regular(real) != after:
                raise CannotWrite(path, _CHANGED)
    except OSError as error:
        raise CannotWrite(path, f"cannot be written: {reason_of(error)}") from None
    _sync_folder(os.path.dirname(real))


def create(path: str, data: bytes) -> None:
    """Make a new file that holds `data`. Raises `CannotWrite`, also where one is there by now."""
    mask = os.umask(0o077)
    os.umask(mask)
    try:
        with _written(os.path.abspath(path), data) as temporary:
            os.chmod(temporary, 0o666 & ~mask)
            _take_name(temporary, path)
    except FileExistsError:
        raise CannotWrite(path, "was made meanwhile; run mpslint again") from None
    except OSError as error:
        raise CannotWrite(path, f"cannot be made: {reason_of(error)}") from None
    _sync_folder(os.path.dirname(os.path.abspath(path)))


def _take_place(temporary: str, real: str, before: bytes, after: bytes) -> bool:
    """Put the file `temporary` in the place of `real`, which must still hold `before`; False, and
    all as it was, where it does not. Writing to the disk took its time, so that is asked again."""
    with os.fdopen(os.open(real, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as old:
        if old.read() != before:
            return False
        swapped = swap(temporary, real)
        if swapped and _is(old.fileno(), temporary):
            old.seek(0)
            if old.read() == before:
                return True
    if not swapped:
        os.replace(temporary, real)
        return True
    # Somebody saved the file after it was asked for the last time: theirs goes back.
    swap(temporary, real)
    if read_regular(temporary) != after:
        swap(temporary, real)  # and once more
    return False


def _is(handle: int, path: str) -> bool:
    """Whether the open file is the one at `path`, or that one is gone: another run cleared up."""
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    except FileNotFoundError:
        return True


def _take_name(temporary: str, path: str) -> None:
    """Give the file the name `path`, unless there is one. Raises `FileExistsError`."""
    try:
        os.link(temporary, path, follow_symlinks=False)
    except FileExistsError:
        raise
    except (OSError, NotImplementedError):  # a disk without hard links
        if os.path.lexists(path):
            raise FileExistsError from None
        os.rename(temporary, path)


@contextlib.contextmanager
def _written(path: str, data: bytes) -> Iterator[str]:
    """A temporary file beside `path` that holds `data` on the disk; gone at the end, unless it has
    taken a name by then. What a run that was killed left in the folder goes as well."""
    folder, base = os.path.split(path)
    _clear(folder)
    file, temporary = _made(folder, base)
    try:
        with file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            if not _LOCKS:
                file.close()  # where there are no locks, an open file cannot be renamed either
            yield temporary
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)


def _made(folder: str, base: str) -> tuple[BinaryIO, str]:
    """A new file of ours and its path. Another run may clear it up in the moment before it is
    locked; then the next one is made."""
    import tempfile

    for _ in range(_TRIES):
        handle, path = tempfile.mkstemp(prefix=f".{base[:40]}.", suffix=".mpslint", dir=folder)
        _lock(handle, wait=True)
        if os.path.lexists(path):
            return os.fdopen(handle, "wb"), path
        os.close(handle)
    raise FileNotFoundError(errno.ENOENT, "temporary files are removed as soon as they are made")


def _clear(folder: str) -> None:
    """Remove temporary files of ours that nobody is writing any more."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in list(entries):
            named = _TEMPORARY.fullmatch(entry.name)
            if named is None or not entry.is_file(follow_symlinks=False):
                continue
            with contextlib.suppress(OSError):
                handle = os.open(entry.path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
                try:
                    if _lock(handle, wait=False):
                        os.unlink(entry.path)
                finally:
                    os.close(handle)


def _lock(handle: int, *, wait: bool) -> bool:
    """Take a file as long as it is open, which the system ends with the process; False where
    another process has it, or the disk knows no locks."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _sync_folder(folder: str) -> None:
    """Make the rename itself durable, where the system lets a folder be synced."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
