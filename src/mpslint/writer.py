"""Replace a file as a whole or not at all.

The new bytes go to a temporary file in the same folder, are flushed to the disk, and take the
old file's place in one step; its mode is kept. A symlink is followed to the file it names; a
file with several hard links is written in place, so that every name sees the change.
"""

from __future__ import annotations

import contextlib
import os
import stat

from mpslint.errors import CannotWrite, reason_of


def replace(path: str, before: bytes, after: bytes) -> None:
    """Make the file at `path`, which must still hold `before`, hold `after`.

    Raises `CannotWrite` when that is not possible; the file then holds what it held.
    """
    real = os.path.realpath(path)
    try:
        status = os.stat(real)
        with open(real, "rb") as file:
            now = file.read()
    except OSError as error:
        raise CannotWrite(path, f"cannot be read again: {reason_of(error)}") from None
    if now != before:
        raise CannotWrite(path, "has changed since it was read; run mpslint again")
    if not status.st_mode & stat.S_IWUSR:
        # os.replace would succeed all the same, and so would root: a file that its owner
        # made read-only is left alone.
        raise CannotWrite(path, "is read-only; make it writable first")
    try:
        if status.st_nlink > 1:
            _write_in_place(real, before, after)
        else:
            _write_and_rename(real, after, status)
    except OSError as error:
        raise CannotWrite(path, f"cannot be written: {reason_of(error)}") from None


def create(path: str, data: bytes) -> None:
    """Make a new file that holds `data`. Raises `CannotWrite`, also where one is there by now."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    except FileExistsError:
        raise CannotWrite(path, "was made meanwhile; run mpslint again") from None
    except OSError as error:
        raise CannotWrite(path, f"cannot be made: {reason_of(error)}") from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(path)
        raise CannotWrite(path, f"cannot be written: {reason_of(error)}") from None
    _sync_folder(os.path.dirname(path))


def _write_and_rename(path: str, data: bytes, status: os.stat_result) -> None:
    import tempfile

    folder, base = os.path.split(path)
    handle, temporary = tempfile.mkstemp(prefix=f".{base[:40]}.", suffix=".mpslint", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(OSError, AttributeError):
            os.chown(temporary, status.st_uid, status.st_gid)
        os.chmod(temporary, stat.S_IMODE(status.st_mode))
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_folder(folder)


def _sync_folder(folder: str) -> None:
    """Make the rename itself durable, where the system lets a folder be synced."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _write_in_place(path: str, before: bytes, after: bytes) -> None:
    """Overwrite; when the disk is full on the way, put back what was there."""
    try:
        _overwrite(path, after)
    except OSError:
        # The old bytes had their blocks before the attempt, so they fit again.
        _overwrite(path, before)
        raise


def _overwrite(path: str, data: bytes) -> None:
    with open(path, "r+b", buffering=0) as file:
        view = memoryview(data)
        while view:
            view = view[file.write(view) :]
        file.truncate(len(data))
        os.fsync(file.fileno())
