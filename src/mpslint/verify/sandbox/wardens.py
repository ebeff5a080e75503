"""The two ways to a warden: a process of mpslint's own Python, or one that a server has forked."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

_PREPARES = 120.0  # seconds
_ANSWERS = 20.0


def package_root() -> str:
    """The folder that mpslint itself is imported from."""
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(__file__))))


class Started:
    """A warden that is our own child."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def wait(self, patience: float) -> None:
        """Until it has ended; raises TimeoutExpired where that takes longer than `patience`."""
        self.process.wait(patience)

    def ended(self, patience: float) -> None:
        """It has ended now, by itself or not."""
        try:
            self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Forked:
    """A warden that is a server's child, by a handle that stays its own."""

    def __init__(self, handle: int) -> None:
        self.handle = handle

    def wait(self, patience: float) -> None:
        if not select.select([self.handle], [], [], patience)[0]:
            raise subprocess.TimeoutExpired("warden", patience)

    def ended(self, patience: float) -> None:
        try:
            self.wait(patience)
        except subprocess.TimeoutExpired:
            signal.pidfd_send_signal(self.handle, signal.SIGKILL)
            self.wait(patience)
        finally:
            os.close(self.handle)


class ServerGone(OSError):
    """The server does not answer: the command has to be started in the other way."""


class ForkServer:
    """A `forkserver` in the user's Python. Any thread may ask it for forks."""

    def __init__(
        self, python: str, env: Mapping[str, str], cwd: str, module: str, arguments: Sequence[Any]
    ) -> None:
        self._ours, theirs = socket.socketpair()
        start = f"import sys; root = {package_root()!r}; sys.path.insert(0, root); "
        start += "from mpslint.verify.sandbox.forkserver import serve; sys.path.remove(root); "
        start += f"go_on = serve({theirs.fileno()}, {module!r}, {list(arguments)!r}); "
        start += "sys.exit(go_on and go_on())"
        try:
            self._process = subprocess.Popen(
                [python, "-c", start],
                env=dict(env),
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        finally:
            theirs.close()
        self._lock = threading.Lock()
        self._about: Any = None
        self._prepared = False

    def about(self) -> Any:
        """What its module's `prepare` returned, as soon as that has; None: it cannot be used."""
        with self._lock:
            if not self._prepared:
                self._prepared = True
                try:
                    self._about = json.loads(self._line(_PREPARES))
                except (OSError, ValueError):
                    self._about = None
            return self._about

    def fork(self, inherited: Sequence[int], handles: Sequence[int]) -> Forked:
        """A warden with these files, the last of which are the command's. Raises ServerGone."""
        with self._lock:
            try:
                socket.send_fds(self._ours, [b"f"], [*inherited, *handles])
                # It is not forgotten before the next one is asked for, so the number is its own.
                return Forked(os.pidfd_open(int(self._line(_ANSWERS))))
            except (OSError, ValueError) as error:
                self._about, self._prepared = None, True
                raise ServerGone(f"no answer ({error})") from None

    def _line(self, patience: float) -> bytes:
        end, found = time.monotonic() + patience, b""
        while not found.endswith(b"\n"):
            self._ours.settimeout(max(end - time.monotonic(), 0.001))
            if not (part := self._ours.recv(1 << 16)):
                raise OSError("it has ended")
            found += part
        return found

    def close(self) -> None:
        """It ends once nobody can ask any more; its forks have ended before."""
        self._ours.close()
        try:
            self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
