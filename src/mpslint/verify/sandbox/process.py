"""The parent side of the sandbox: start a command in it, keep a bounded part of its output, and
hear how it ended.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mpslint.verify.sandbox.canary import Canary
from mpslint.verify.sandbox.wardens import ForkServer, ServerGone, Started, package_root

_HEAD = _TAIL = 1 << 20
_PATIENCE = 15.0
_LOOK = 0.2  # seconds between two looks whether to stop
SHARED_SCRATCH = ("/tmp", "/var/tmp")
"""Where every program of the machine writes what it soon forgets; the sandbox has stand-ins."""


class Limits(NamedTuple):
    """seconds; bytes per process (0: none, for real devices) and in sum; a count; bytes."""

    timeout: float
    address_space: int
    memory: int
    processes: int
    disk: int


class Places(NamedTuple):
    """Absolute folders: what may be written, what must look empty, what stays readable in there,
    stand-ins; in which ones a try to write must fail, and which ones the report speaks of as
    hidden or not.
    """

    writable: Sequence[str]
    hidden: Sequence[str]
    keep: Sequence[str]
    scratch: Mapping[str, str]
    guarded: Sequence[str]
    private: Sequence[str]


class Command(NamedTuple):
    """What to run, where, and how far it may go."""

    argv: Sequence[str]
    """The first is an absolute path."""
    cwd: str
    env: Mapping[str, str]
    places: Places
    limits: Limits
    handles: Sequence[int] = ()
    """File descriptors that the command inherits."""
    stop: threading.Event | None = None
    """Set by somebody else, it ends the command."""
    server: ForkServer | None = None
    """Forks the command, which `argv` then means as the server's own module reads it."""


class Ended(NamedTuple):
    """How a command ended: its exit code (negative: the signal), or the limit that stopped it."""

    code: int | None
    stopped: str | None  # "timeout", "memory", "processes", "disk", "cancelled"
    broken: str | None  # the sandbox itself did not work
    seconds: float
    peak_memory: int
    stdout: str
    stderr: str
    cut: int  # bytes of stdout that were not kept
    digest: str  # of all of stdout
    isolation: dict[str, Any]


class _Collector(threading.Thread):
    """Drains a pipe to its end and keeps the first and the last MiB."""

    def __init__(self, pipe: int) -> None:
        super().__init__(daemon=True)
        self.pipe, self.head, self.tail, self.total = pipe, bytearray(), bytearray(), 0
        self.digest = hashlib.sha256()
        self.start()

    def run(self) -> None:
        while chunk := os.read(self.pipe, 1 << 16):
            self.total += len(chunk)
            self.digest.update(chunk)
            room = _HEAD - len(self.head)
            self.head += chunk[:room] if room > 0 else b""
            self.tail += chunk[max(room, 0) :]
            if len(self.tail) > 2 * _TAIL:
                del self.tail[:-_TAIL]
        os.close(self.pipe)

    def text(self) -> str:
        tail = self.tail[-_TAIL:]
        gap = b"\n[...]\n" if self.cut() else b""
        return bytes(self.head + gap + tail).decode("utf-8", "replace")

    def cut(self) -> int:
        return self.total - len(self.head) - min(len(self.tail), _TAIL)


def run(command: Command) -> Ended:
    """Run a command to its end or to a limit; every process that it started is gone afterwards.

    Raises OSError only when mpslint's own Python cannot be started.
    """
    if command.server is not None:
        with contextlib.suppress(ServerGone):
            ended = _in_either_way(command)
            if not ended.broken:
                return ended
    return _in_either_way(command._replace(server=None))


def _in_either_way(command: Command) -> Ended:
    ended = attempt(command, namespaces=True)
    return attempt(command, namespaces=False) if ended.broken else ended


def attempt(command: Command, *, namespaces: bool) -> Ended:
    """The same, in one of the two ways in which a command is kept from others."""
    places, limits = command.places, command.limits
    with Canary(os.path.dirname(places.writable[0])) as canary:
        return _watched(
            {
                "argv": list(command.argv),
                "cwd": command.cwd,
                "env": dict(command.env),
                "handles": list(command.handles),
                "namespaces": namespaces,
                "timeout": limits.timeout,
                "memory": limits.address_space,
                "memory_total": limits.memory,
                "processes": limits.processes,
                "disk": limits.disk,
                "writable": list(places.writable),
                "hidden": list(places.hidden),
                # A try at something that cannot be seen would prove nothing.
                "keep": [*places.keep, canary.folder],
                "scratch": dict(places.scratch),
                "guarded": list(places.guarded),
                "private": list(places.private),
                "canary": canary.places(),
            },
            command.stop,
            command.server,
        )


class Stopped(Exception):
    """Somebody else asked for the end of a command."""


def _watched(
    config: dict[str, Any], stop: threading.Event | None, server: ForkServer | None
) -> Ended:
    (config_out, config_in), (status_out, status_in), (control_out, control_in) = _pipes(3)
    (output, output_in), (errors, errors_in) = _pipes(2)
    inherited = (config_out, status_in, control_out, output_in, errors_in)
    try:
        begin = server.fork if server is not None else _begun
        warden = begin(inherited, config["handles"])
    except BaseException:
        for fd in (config_in, status_out, control_in, output, errors):
            os.close(fd)
        raise
    finally:
        for fd in inherited:
            os.close(fd)
    outputs = (_Collector(output), _Collector(errors))
    try:
        _send(config_in, json.dumps(config).encode())
        status = _receive(status_out, config["timeout"] + 2 * _PATIENCE, stop)
        warden.wait(_PATIENCE)
    finally:
        os.close(control_in)  # an interrupt here, or our death, makes the warden end everything
        warden.ended(_PATIENCE)
    for collector in outputs:
        collector.join(_PATIENCE)
    return _ended(status, *outputs)


def _begun(inherited: Sequence[int], handles: Sequence[int]) -> Started:
    """A warden in a fresh process of mpslint's own Python."""
    config, status, control, output, errors = inherited
    start = f"import sys; sys.path.insert(0, {package_root()!r}); "
    start += "from mpslint.verify.sandbox.launch import main; sys.exit(main(sys.argv[1:]))"
    return Started(
        subprocess.Popen(
            [sys.executable, "-I", "-B", "-c", start, *map(str, (config, status, control))],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            pass_fds=(config, status, control, *handles),
            start_new_session=True,
        )
    )


def _pipes(count: int) -> list[tuple[int, int]]:
    return [os.pipe() for _ in range(count)]


def _send(fd: int, data: bytes) -> None:
    with os.fdopen(fd, "wb") as file:
        file.write(data)


def _receive(fd: int, patience: float, stop: threading.Event | None) -> dict[str, Any]:
    end = time.monotonic() + patience
    with os.fdopen(fd, "rb") as file:
        ready: list[int] = []
        while not ready and (left := end - time.monotonic()) > 0:
            if stop is not None and stop.is_set():
                raise Stopped
            ready = select.select([fd], [], [], min(left, _LOOK))[0]
        data = file.read() if ready else b""
    if not data:
        return {"broken": "the sandbox's own process died"}
    status: dict[str, Any] = json.loads(data)
    return status


def _ended(status: dict[str, Any], stdout: _Collector, stderr: _Collector) -> Ended:
    isolation = dict(status.get("isolation", {}))
    isolation["nothing_left"] = status.get("nothing_left", False)
    return Ended(
        code=status.get("ended"),
        stopped=status.get("stopped"),
        broken=status.get("broken"),
        seconds=status.get("seconds", 0.0),
        peak_memory=status.get("peak_memory", 0),
        stdout=stdout.text(),
        stderr=stderr.text(),
        cut=stdout.cut(),
        digest=stdout.digest.hexdigest(),
        isolation=isolation,
    )
