"""The temporary folder of a verification: whatever happens, it does not stay behind."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import stat
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from types import FrameType

_PREFIX = "mpslint-verify-"
_LOCK = ".in-use"
_BEING_MADE = 3600.0  # seconds for which a folder without a lock is taken for one that is made


@contextlib.contextmanager
def folder() -> Iterator[str]:
    """A new folder, gone afterwards, as are those of processes that were killed."""
    _sweep()
    base = os.path.realpath(tempfile.mkdtemp(prefix=_PREFIX))
    try:
        with _locked(base):
            yield base
    finally:
        remove(base)


@contextlib.contextmanager
def _locked(base: str) -> Iterator[None]:
    """Locked before it can be seen: another process takes a free lock for that of a dead one."""
    made = os.path.join(base, _LOCK + ".made")
    with open(made, "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.rename(made, os.path.join(base, _LOCK))
        yield


def remove(path: str) -> bool:
    """Remove a folder, even where a script took the right to do so, or what else a script has left
    in its place; whether it is gone. Nothing is done to where a link leads, and no pipe is opened.
    """
    try:
        is_folder = stat.S_ISDIR(os.lstat(path).st_mode)
    except FileNotFoundError:
        return True
    if not is_folder:
        with contextlib.suppress(OSError):
            os.unlink(path)
        return not os.path.lexists(path)
    _give_rights(path)
    with contextlib.suppress(RecursionError):
        shutil.rmtree(path, ignore_errors=True)
    if os.path.lexists(path):  # nested too deep, or written to meanwhile
        subprocess.run(["rm", "-rf", "--", path], stderr=subprocess.DEVNULL, check=False)
    return not os.path.lexists(path)


def _give_rights(path: str) -> None:
    pending = [path]
    while pending:
        top = pending.pop()
        with contextlib.suppress(OSError):
            os.chmod(top, 0o700)
            with os.scandir(top) as entries:
                pending += [e.path for e in entries if e.is_dir(follow_symlinks=False)]


def _sweep() -> None:
    """Remove what processes left that had no time to do so: their locks are free."""
    place = tempfile.gettempdir()
    with contextlib.suppress(OSError):
        for name in os.listdir(place):
            path = os.path.join(place, name)
            if name.startswith(_PREFIX) and _is_ours(path) and not _in_use(path):
                remove(path)


def _is_ours(path: str) -> bool:
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()


def _in_use(path: str) -> bool:
    try:
        lock = os.open(os.path.join(path, _LOCK), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return time.time() - os.lstat(path).st_mtime < _BEING_MADE
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(lock)
    return False


class _Asked(BaseException):
    """A signal asked this process to end."""


@contextlib.contextmanager
def cleaned_up_when_asked_to_end() -> Iterator[None]:
    """SIGTERM and SIGHUP end this process as they would have, but not before the block has cleaned
    up after itself. Where somebody else handles them, or in a thread, nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ours = [n for n in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) is signal.SIG_DFL]
    asked: list[int] = []

    def ask(number: int, frame: FrameType | None) -> None:
        asked.append(number)
        if len(asked) == 1:  # a second one must not disturb the cleaning up
            raise _Asked

    for number in ours:
        signal.signal(number, ask)
    try:
        yield
    except _Asked:
        pass
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)
        if asked:
            os.kill(os.getpid(), asked[0])
