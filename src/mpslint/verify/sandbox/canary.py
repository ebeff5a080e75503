"""Things of the parent's that lie outside of the sandbox, for the command's side to try its hand at
(`checks`)."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import sys
import tempfile
from typing import Any


class Canary:
    """A file, a socket with a path and one without, in a folder that the command cannot write."""

    def __init__(self, folder: str) -> None:
        self.folder = tempfile.mkdtemp(prefix="canary-", dir=folder)
        self.file = os.path.join(self.folder, "file")
        self.socket = os.path.join(self.folder, "socket")
        self.abstract = f"mpslint-{secrets.token_hex(8)}" if sys.platform == "linux" else ""
        self._open: list[socket.socket] = []

    def __enter__(self) -> Canary:
        with open(self.file, "wb"):
            pass
        with contextlib.suppress(OSError):
            self._listen(self._way())
        if self.abstract:
            self._listen("\0" + self.abstract)
        return self

    def _way(self) -> str:
        """The socket's path; most systems allow about 100 bytes of it."""
        if sys.platform != "linux":
            return self.socket
        self._folder = os.open(self.folder, os.O_PATH | os.O_CLOEXEC)
        return f"/proc/self/fd/{self._folder}/socket"

    def _listen(self, address: str) -> None:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._open.append(sock)
        sock.bind(address)
        sock.listen(16)

    def places(self) -> dict[str, Any]:
        """What the command's side needs to know for its tries."""
        return {
            "file": self.file,
            "socket": self.socket,
            "abstract": self.abstract,
            "process": os.getpid(),
            "space": _space(),
            "shared": os.stat("/dev/shm").st_dev if os.path.isdir("/dev/shm") else 0,
        }

    def __exit__(self, *_: object) -> None:
        for sock in self._open:
            sock.close()
        if hasattr(self, "_folder"):
            os.close(self._folder)
        for path in (self.file, self.socket):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
        os.rmdir(self.folder)


def _space() -> str:
    """This process's process namespace; empty where nobody tells."""
    try:
        return os.readlink("/proc/self/ns/pid") if sys.platform == "linux" else ""
    except OSError:  # no /proc, or one that this user may not enter
        return ""
