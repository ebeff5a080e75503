"""The folder of the user in which mpslint keeps what it found: ours, or not used.

It lies where this user's programs keep such things, never in the project: what a project brings is
not believed, and a project that is only looked at is not written to. The folder is opened once, not
through a link; from then on files are named within it, so that nothing on the way to it matters. It
must belong to the user alone and hold our tag. Names that are written first are made up, and made
by us or not at all; only names of our form are ever removed.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import sys
import time
from typing import Any

from mpslint.errors import BadSettings

VARIABLE = "MPSLINT_CACHE_DIR"
_TAG_NAME = "CACHEDIR.TAG"
_TAG = b"Signature: 8a477f597d28d172789f06886806bc55\n# Made by mpslint; safe to delete.\n"
_OURS = re.compile(r"[0-9a-f]{32}\.(?:json|together)(?P<unfinished>\.[0-9a-f]{16}\.tmp)?")
_KINDS = (".json", ".together")
"""What was found in files by themselves, and what they have against each other's fixes."""
_MAX_BYTES = 256 << 20
_MAX_FILES = 128
"""Sets of settings, of all projects together, that are kept, and so many sets of files."""
_HOUR = 3600
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_BY_HANDLE = os.open in os.supports_dir_fd and hasattr(os, "geteuid")


def location() -> str | None:
    """Where the folder lies; None for a user without a home. Raises `BadSettings`."""
    named = os.environ.get(VARIABLE)
    if named:
        if not os.path.isabs(named):
            # Beside each project it would be a folder that the project can bring.
            raise BadSettings(f"{VARIABLE}: {named!r} must be an absolute path")
        return os.path.normpath(named)
    base = os.environ.get("XDG_CACHE_HOME", "")
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA", "")
    elif not os.path.isabs(base):
        own = ("Library", "Caches") if sys.platform == "darwin" else (".cache",)
        base = os.path.join(os.path.expanduser("~"), *own)
    return os.path.join(base, "mpslint") if os.path.isabs(base) else None


class CacheFolder:
    """The open folder; its methods raise `OSError` for what a disk can do to them."""

    def __init__(self, path: str, handle: int | None) -> None:
        self.path = path
        self._handle = handle

    def read(self, name: str) -> bytes:
        """The bytes of a file of ours; empty where there is none."""
        try:
            handle = os.open(self._name(name), os.O_RDONLY | _NO_LINK, **self._within())
        except OSError:
            return b""
        with open(handle, "rb") as file:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_BYTES:
                return b""
            return file.read(status.st_size)

    def write(self, name: str, data: bytes) -> None:
        """Make the file hold `data`, at once for whoever reads it meanwhile."""
        temporary = f"{name}.{os.urandom(8).hex()}.tmp"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK
        handle = os.open(self._name(temporary), flags, 0o600, **self._within())
        try:
            with open(handle, "wb") as file:
                file.write(data)
            where = {} if self._handle is None else dict.fromkeys(_BOTH, self._handle)
            os.replace(self._name(temporary), self._name(name), **where)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(self._name(temporary), **self._within())
            raise

    def prune(self) -> None:
        """Forget the settings that were not used for longest, and what a crash left behind."""
        files = sorted(self._files(), reverse=True)
        finished = [name for _, name, unfinished in files if not unfinished]
        kinds = [[name for name in finished if name.endswith(kind)] for kind in _KINDS]
        surplus = [name for names in kinds for name in names[_MAX_FILES:]]
        left = [name for at, name, unfinished in files if unfinished and at < time.time() - _HOUR]
        for name in surplus + left:
            with contextlib.suppress(OSError):
                os.unlink(self._name(name), **self._within())

    def remove(self) -> None:
        """Remove what is ours, and the folder where nothing else is in it."""
        for _, name, _ in self._files():
            os.unlink(self._name(name), **self._within())
        if self._names() == [_TAG_NAME]:
            os.unlink(self._name(_TAG_NAME), **self._within())
            os.rmdir(self.path)

    def close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)

    def _files(self) -> list[tuple[float, str, bool]]:
        """Time, name and whether it is unfinished, of the files of ours."""
        found = []
        with os.scandir(self.path if self._handle is None else self._handle) as entries:
            for entry in entries:
                named = _OURS.fullmatch(entry.name)
                if named and entry.is_file(follow_symlinks=False):
                    changed = entry.stat(follow_symlinks=False).st_mtime
                    found.append((changed, entry.name, named["unfinished"] is not None))
        return found

    def _names(self) -> list[str]:
        return os.listdir(self.path if self._handle is None else self._handle)

    def _name(self, name: str) -> str:
        return name if self._handle is not None else os.path.join(self.path, name)

    def _within(self) -> dict[str, Any]:
        return {} if self._handle is None else {"dir_fd": self._handle}

    def is_ours(self) -> bool:
        """Whether it belongs to this user alone and holds our tag."""
        if self._handle is not None:
            status = os.fstat(self._handle)
            if status.st_uid != os.geteuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                return False
        return self.read(_TAG_NAME) == _TAG

    def claim(self) -> None:
        """Put our tag into a folder in which nothing is."""
        if not self._names():
            self.write(_TAG_NAME, _TAG)


_BOTH = ("src_dir_fd", "dst_dir_fd")


def open_folder(*, make: bool = False) -> CacheFolder | None:
    """The user's folder; None where there is none, or one that is not ours. `make`: where there is
    none, make it. Raises `BadSettings`, and `OSError` where it cannot be made."""
    path = location()
    if path is None:
        return None
    if make:
        os.makedirs(path, 0o700, exist_ok=True)
    try:
        handle = None
        if _BY_HANDLE:
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | _NO_LINK)
        elif os.path.islink(path) or not os.path.isdir(path):
            return None
    except OSError:
        return None
    folder = CacheFolder(path, handle)
    try:
        if make:
            folder.claim()
        if folder.is_ours():
            return folder
    except OSError:
        pass
    folder.close()
    return None
