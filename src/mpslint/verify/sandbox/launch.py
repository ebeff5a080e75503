"""The child side of the sandbox, started with the numbers of three file descriptors.

CONFIG_FD, STATUS_FD, CONTROL_FD. This process stays outside the process namespace as the warden:
it watches time, memory, disk and the number of processes, and ends everything at a limit, at the
end of the command, or when its own parent closes CONTROL_FD (or dies). Below it, `_first` is
process 1 of the namespace, and the command is its child, which takes away its own rights and then
executes the program, or goes on as it is where the process was forked from a prepared one
(`forkserver`).
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from mpslint.verify.sandbox import checks, limits, watch
from mpslint.verify.sandbox.warden import Warden

_LINUX = sys.platform == "linux"
if _LINUX:
    from mpslint.verify.sandbox import (
        landlock,
        namespaces,
        policy,
        seccomp,
        supervisor,
        syscalls,
    )  # fmt: skip


Start = Callable[[dict[str, Any]], None]
"""What a process without rights does to become the command: the last that can fail unseen by it."""


class _Spaces:
    """What the namespaces gave; everything else is added by the command's own process."""

    def __init__(self) -> None:
        self.entered = self.files = self.supervised = False
        self.refused = ""
        self.post: tuple[socket.socket, socket.socket] = socket.socketpair()


def _enter(config: dict[str, Any]) -> _Spaces:
    spaces = _Spaces()
    if not _LINUX:
        spaces.refused = f"no namespaces on {sys.platform}"
        return spaces
    syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)
    if config["namespaces"] is False:
        spaces.refused = "namespaces switched off"
        return spaces
    try:
        namespaces.enter()
        spaces.entered = True
        namespaces.loopback_up()
        namespaces.build_file_system(
            config["writable"],
            config["hidden"],
            config["keep"],
            config["scratch"],
            config["memory_total"],
        )
        spaces.files = True
    except OSError as error:
        spaces.refused = f"{error.strerror or error}"
    return spaces


def _first(config: dict[str, Any], spaces: _Spaces, note: int, warden: int, start: Start) -> None:
    """Process 1 of the namespace: start the command, adopt orphans, end (and with it all others)
    when it ends. Returns in the command's process alone, once `start` has.
    """
    if _LINUX:
        syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
        if not spaces.entered and os.getppid() != warden:
            os._exit(125)
    if spaces.entered:
        # Refused: the machine's process list stays visible, but nothing in it can be reached.
        with contextlib.suppress(OSError):
            namespaces.own_process_list(config["processes"])
        command = os.fork()
        if command:
            _adopt(command, note)
    _become(config, spaces, note, start)


def _adopt(command: int, note: int) -> NoReturn:
    while True:
        try:
            pid, status = os.wait()
        except ChildProcessError:
            os._exit(125)
        if pid == command:
            os.write(
                note, json.dumps({"ended": os.waitstatus_to_exitcode(status)}).encode() + b"\n"
            )
            os._exit(0)


def _become(config: dict[str, Any], spaces: _Spaces, note: int, start: Start) -> None:
    """Give up every right and turn into the command."""
    with contextlib.suppress(OSError):
        os.setsid()
    try:
        os.chdir(config["cwd"])
        for handle in config["handles"]:
            os.set_inheritable(handle, True)
        held = limits.apply(config["memory"], config["processes"] + _others(), config["disk"])
        ways = _give_up_rights(config, spaces)
        os.write(
            note, json.dumps({"isolation": _measure(config, spaces, held, ways)}).encode() + b"\n"
        )
        spaces.post[1].close()
        start(config)
    except BaseException as error:
        os.write(note, json.dumps({"broken": f"{type(error).__name__}: {error}"}).encode() + b"\n")
        os._exit(125)


def _others() -> int:
    """Threads that count against the user's limit already (old kernels count them in every
    namespace).
    """
    return sum(task.threads for task in watch.tasks())


def _give_up_rights(config: dict[str, Any], spaces: _Spaces) -> dict[str, str]:
    """What stands between the command and the rest, where it stands: namespaces first, since they
    hide what the others only forbid."""
    ways: dict[str, str] = {}
    if not _LINUX:
        return ways
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    # Who took other rights is closed to its own user, and the warden, until it executes something.
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)
    version = 0
    if not spaces.files:
        with contextlib.suppress(OSError):
            hidden = [*config["hidden"], *config["scratch"], "/dev"]
            readable = landlock.readable_around(hidden) + config["keep"]
            landlock.restrict(readable, [*config["writable"], *landlock.devices()])
            version = landlock.abi()
    with contextlib.suppress(OSError):
        syscalls.drop_capabilities()
    filtered = _filter(spaces, truncate=version < 3)
    ways["writes"] = ways["home"] = "own mounts" if spaces.files else "Landlock"
    ways["network"] = "own namespace" if spaces.entered else "seccomp"
    ways["signals"] = "own namespace" if spaces.entered else "seccomp" if filtered else "Landlock"
    ways["sockets"] = ways["metadata"] = "seccomp"
    if spaces.files:
        ways["metadata"] = "own mounts"
    ways["shared"] = "own namespace"
    return ways


def _filter(spaces: _Spaces, truncate: bool) -> bool:
    """Forbid system calls, with the warden's help if it can give it; whether that worked."""
    for supervised in (True, False) if spaces.supervised else (False,):
        rules = policy.rules(spaces.entered and spaces.files, supervised, truncate)
        try:
            listener = seccomp.install(rules, listen=supervised)
        except OSError:
            continue
        if supervised:
            socket.send_fds(spaces.post[1], [b"1"], [listener])
            os.close(listener)
        return True
    return False


def _measure(
    config: dict[str, Any], spaces: _Spaces, held: dict[str, bool], ways: dict[str, str]
) -> dict[str, Any]:
    kept = [*config["keep"], *config["writable"]]
    canary = config["canary"]
    needed = [path for path in config["keep"] if path != os.path.dirname(canary["file"])]
    tries = {
        "network": checks.network_is_forbidden(),
        "writes": checks.writes_are_forbidden(config["guarded"], config["writable"]),
        "metadata": checks.metadata_is_forbidden(canary["file"]),
        "sockets": checks.sockets_are_forbidden(canary["socket"], canary["abstract"]),
        "signals": checks.signals_are_forbidden(canary["process"], canary["space"]),
        "shared": checks.shared_memory_is_own(canary["shared"]),
    }
    measured: dict[str, Any] = {
        what: ways.get(what, "permissions") if good else None for what, good in tries.items()
    }
    open_ = checks.open_folders(config["private"], kept, config["writable"])
    return {
        **measured,
        "home": None if open_ else ways.get("home", "permissions"),
        "open": open_,
        "shown": checks.shown_below(config["private"], needed, config["writable"]),
        "orphans": "own process namespace"
        if spaces.entered
        else ("adopted and killed" if _LINUX else None),
        "memory": held["memory"],
        "processes": held["processes"],
        "file_size": held["file_size"],
        "refused": spaces.refused,
    }


def _execute(config: dict[str, Any]) -> None:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.execve(config["argv"][0], config["argv"], config["env"])


def split(config: dict[str, Any], status_fd: int, control_fd: int, start: Start) -> bool:
    """Become the warden and the command's process: True in the warden, after the command's end and
    its own report; False in the command's process, where `start` returned.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the parent decides, by closing the control pipe
    spaces = _enter(config)
    note_out, note_in = os.pipe()
    warden = os.getpid()
    child = os.fork()
    if child == 0:
        for fd in (note_out, status_fd, control_fd):
            os.close(fd)
        spaces.post[0].close()
        spaces.supervised = spaces.post[1].recv(1) == b"1"
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        _first(config, spaces, note_in, warden, start)
        return False
    for fd in (note_in, *config["handles"]):
        os.close(fd)
    spaces.post[1].close()
    spaces.supervised = _LINUX and supervisor.can_watch(child)
    spaces.post[0].sendall(b"1" if spaces.supervised else b"0")
    answers = None
    if spaces.supervised:
        stand_ins = list(config["scratch"]) if spaces.files else []
        answers = supervisor.Supervisor(
            spaces.post[0], config["writable"], stand_ins, config["keep"], spaces.entered
        )
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 1)
    os.dup2(null, 2)  # the reader of the command's output must see its end
    report = Warden(config, child, note_out, control_fd, answers).run()
    os.write(status_fd, json.dumps(report).encode())
    return True


def main(argv: list[str]) -> int:
    config_fd, status_fd, control_fd = (int(text) for text in argv)
    with os.fdopen(config_fd, "rb") as file:
        config = json.load(file)
    split(config, status_fd, control_fd, _execute)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
