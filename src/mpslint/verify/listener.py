"""mpslint's end of the channel over which a run tells its report."""

from __future__ import annotations

import contextlib
import os
import socket
import threading

from mpslint.verify.harness import channel

_MOST = 256 << 20
_PATIENCE = 15.0


class Listener:
    """Use as a context manager around the run; `handle` is the end that the run inherits."""

    def __init__(self) -> None:
        self._key = os.urandom(channel.KEY_BYTES)
        self._ours, self._theirs = socket.socketpair()
        self._data = bytearray()
        self._too_long = False
        self._thread = threading.Thread(target=self._collect, daemon=True)

    @property
    def handle(self) -> int:
        return self._theirs.fileno()

    def __enter__(self) -> Listener:
        self._ours.sendall(self._key)
        self._thread.start()
        return self

    def _collect(self) -> None:
        with contextlib.suppress(OSError):
            while part := self._ours.recv(1 << 20):
                if len(self._data) + len(part) > _MOST:
                    self._too_long = True
                else:
                    self._data += part

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._theirs.close()
        if kind is None:
            self._thread.join(_PATIENCE)
        with contextlib.suppress(OSError):
            self._ours.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._ours.close()

    def told(self) -> channel.Told:
        """What the run told, after it. Raises channel.Forged when that is not to be believed."""
        if self._too_long:
            raise channel.Forged(f"the report is longer than {_MOST >> 20} MB")
        return channel.read(bytes(self._data), self._key)
