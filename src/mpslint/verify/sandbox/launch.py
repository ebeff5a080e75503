"""The child side of the sandbox, started with the numbers of three file descriptors.

CONFIG_FD, STATUS_FD, CONTROL_FD. This process stays outside the process namespace as the warden:
it watches time, memory, disk and the number of processes, and ends everything at a limit, at the
end of the command, or when its own parent closes CONTROL_FD (or dies). Below it, `_first` is
process 1 of the namespace, and the command is its child.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import time
from typing import Any, NoReturn

from mpslint.verify.sandbox import checks, limits, watch

_LINUX = sys.platform == "linux"
if _LINUX:
    from mpslint.verify.sandbox import landlock, namespaces, seccomp, syscalls

_TICK = 0.1


class _Spaces:
    """What the namespaces gave; everything else is added by the command's own process."""

    def __init__(self) -> None:
        self.entered = self.files = False
        self.refused = ""


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
            config["memory"] or 1 << 32,
        )
        spaces.files = True
    except OSError as error:
        spaces.refused = f"{error.strerror or error}"
    return spaces


def _first(config: dict[str, Any], spaces: _Spaces, note: int, warden: int) -> NoReturn:
    """Process 1 of the namespace: start the command, adopt orphans, end (and with it all others)
    when it ends.
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
    _become(config, spaces, note)


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


def _become(config: dict[str, Any], spaces: _Spaces, note: int) -> NoReturn:
    """Give up every right and turn into the command."""
    with contextlib.suppress(OSError):
        os.setsid()
    try:
        os.chdir(config["cwd"])
        held = limits.apply(config["memory"], config["processes"] + _others(), config["disk"])
        ways = _give_up_rights(config, spaces)
        os.write(
            note, json.dumps({"isolation": _measure(config, spaces, held, ways)}).encode() + b"\n"
        )
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.execve(config["argv"][0], config["argv"], config["env"])
    except BaseException as error:
        os.write(note, json.dumps({"broken": f"{type(error).__name__}: {error}"}).encode() + b"\n")
        os._exit(125)


def _others() -> int:
    """Threads that count against the user's limit already (old kernels count them in every
    namespace).
    """
    return sum(task.threads for task in watch.tasks())


def _give_up_rights(config: dict[str, Any], spaces: _Spaces) -> dict[str, str]:
    ways = {"network": "own namespace", "files": "own mounts"}
    if not _LINUX:
        return ways
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    if not spaces.entered:
        try:
            seccomp.forbid_network()
            ways["network"] = "seccomp"
        except OSError:
            pass
    if not spaces.files:
        try:
            readable = landlock.readable_around(config["hidden"]) + config["keep"]
            landlock.restrict(readable, [*config["writable"], *landlock.devices()])
            ways["files"] = "Landlock"
        except OSError:
            pass
    with contextlib.suppress(OSError):
        syscalls.drop_capabilities()
    return ways


def _measure(
    config: dict[str, Any], spaces: _Spaces, held: dict[str, bool], ways: dict[str, str]
) -> dict[str, Any]:
    kept = [*config["keep"], *config["writable"]]
    writes = checks.writes_are_forbidden(config["guarded"], config["writable"])
    return {
        "network": ways["network"] if checks.network_is_forbidden() else None,
        "writes": ways["files"] if writes else None,
        "home": ways["files"] if checks.folders_are_hidden(config["hidden"], kept) else None,
        "orphans": "own process namespace"
        if spaces.entered
        else ("adopted and killed" if _LINUX else None),
        "memory": held["memory"],
        "processes": held["processes"],
        "file_size": held["file_size"],
        "refused": spaces.refused,
    }


class _Warden:
    def __init__(self, config: dict[str, Any], child: int, note: int, control: int) -> None:
        self.config, self.child, self.note, self.control = config, child, note, control
        self.buffer = b""
        self.report: dict[str, Any] = {"stopped": None, "peak_memory": 0, "peak_processes": 0}
        self.seen: set[int] = set()
        self.started = time.monotonic()
        self.next_disk = self.started + 1.0

    def run(self) -> dict[str, Any]:
        over = False
        sources = [self.note, self.control]
        while not over:
            ready = select.select(sources, [], [], _TICK)[0]
            if self.note in ready and not self._read_note():
                sources.remove(self.note)  # the command holds no end of it: wait for the process
            if self.control in ready:
                self.report["stopped"] = "cancelled"
            self.report["stopped"] = self.report["stopped"] or self._limit_met()
            over = over or self.report["stopped"] is not None or self._child_ended()
        self.report["seconds"] = time.monotonic() - self.started
        while self._read_note(0.0):
            pass
        self.report["nothing_left"] = watch.end_all(os.getpid(), self.seen)
        return self.report

    def _read_note(self, wait: float = _TICK) -> bool:
        if not select.select([self.note], [], [], wait)[0]:
            return False
        chunk = os.read(self.note, 65536)
        self.buffer += chunk
        *lines, self.buffer = self.buffer.split(b"\n")
        for line in lines:
            self.report.update(json.loads(line))
        return bool(chunk)

    def _child_ended(self) -> bool:
        try:
            pid, status = os.waitpid(self.child, os.WNOHANG)
        except ChildProcessError:
            return True
        if pid == 0:
            return False
        self.report.setdefault("ended", os.waitstatus_to_exitcode(status))
        return True

    def _limit_met(self) -> str | None:
        now = time.monotonic()
        if now - self.started > self.config["timeout"]:
            return "timeout"
        tree = watch.below(os.getpid(), watch.tasks())
        self.seen.update(task.pid for task in tree if not _LINUX)
        memory, count = sum(task.memory for task in tree), sum(task.threads for task in tree)
        limit = self.config["memory_total"]
        if memory > limit:
            memory = watch.proportional_memory(tree)
        self.report["peak_memory"] = max(self.report["peak_memory"], memory)
        self.report["peak_processes"] = max(self.report["peak_processes"], count)
        if memory > limit:
            return "memory"
        if count > self.config["processes"]:
            return "processes"
        if now > self.next_disk:
            size = watch.folder_size(self.config["writable"])
            self.next_disk = now + 1.0 + 10 * (time.monotonic() - now)
            if size > self.config["disk"]:
                return "disk"
        return None


def main(argv: list[str]) -> int:
    config_fd, status_fd, control_fd = (int(text) for text in argv)
    with os.fdopen(config_fd, "rb") as file:
        config = json.load(file)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the parent decides, by closing the control pipe
    spaces = _enter(config)
    note_out, note_in = os.pipe()
    warden = os.getpid()
    child = os.fork()
    if child == 0:
        for fd in (note_out, status_fd, control_fd):
            os.close(fd)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        _first(config, spaces, note_in, warden)
    os.close(note_in)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 1)
    os.dup2(null, 2)  # the reader of the command's output must see its end
    report = _Warden(config, child, note_out, control_fd).run()
    os.write(status_fd, json.dumps(report).encode())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
