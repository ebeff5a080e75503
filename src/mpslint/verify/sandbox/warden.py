"""What watches the command: time, memory, disk, processes, and the parent that may go away."""

from __future__ import annotations

import json
import os
import select
import sys
import time
from typing import TYPE_CHECKING, Any

from mpslint.verify.sandbox import usage, watch

if TYPE_CHECKING:
    from mpslint.verify.sandbox.supervisor import Supervisor

_LINUX = sys.platform == "linux"
_TICK = 0.1
_SHARED = "/dev/shm"


class Warden:
    """Watches the command until it ends or meets a limit."""

    def __init__(
        self,
        config: dict[str, Any],
        child: int,
        note: int,
        control: int,
        supervisor: Supervisor | None,
    ) -> None:
        self.config, self.child, self.note, self.control = config, child, note, control
        self.supervisor = supervisor
        self.buffer = b""
        self.report: dict[str, Any] = {"stopped": None, "peak_memory": 0, "peak_processes": 0}
        self.seen: set[int] = set()
        self.tree = watch.Tree(os.getpid())
        self.started = time.monotonic()
        self.next_look = self.started
        self.next_disk = self.started + 1.0
        self.next_files = self.started
        self.opened = usage.NOTHING_OPEN
        self.devices = {os.stat(path).st_dev for path in config["writable"]}
        self.own_shared = _own_shared_memory(config["canary"]["shared"])

    def run(self) -> dict[str, Any]:
        over = False
        sources = [self.note, self.control]
        while not over:
            asking = self.supervisor.sources() if self.supervisor else []
            ready = select.select([*sources, *asking], [], [], _TICK)[0]
            if self.supervisor:
                self.supervisor.attend()
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
        if now < self.next_look:
            return None
        self.next_look = now + _TICK
        tree = watch.weighed(self.tree.now())
        self.seen.update(task.pid for task in tree if not _LINUX)
        count = sum(task.threads for task in tree)
        self.report["peak_processes"] = max(self.report["peak_processes"], count)
        if self._memory(tree, now) > self.config["memory_total"]:
            return "memory"
        if count > self.config["processes"]:
            return "processes"
        if now > self.next_disk:
            size = self._disk(tree)
            self.next_disk = now + 1.0 + 10 * (time.monotonic() - now)
            if size > self.config["disk"]:
                return "disk"
        return None

    def _memory(self, tree: list[watch.Task], now: float) -> int:
        if now > self.next_files:
            self.opened = usage.open_files(tree, self.devices, self.own_shared)
            self.next_files = now + _TICK + 10 * (time.monotonic() - now)
        shared = usage.space_used(_SHARED) if self.own_shared else 0
        used = usage.memory_at_most(tree, self.opened) + shared
        if used > self.config["memory_total"]:
            self.opened = usage.open_files(tree, self.devices, self.own_shared)
            used = usage.memory(tree, self.opened, self.own_shared) + shared
        self.report["peak_memory"] = max(self.report["peak_memory"], used)
        return used

    def _disk(self, tree: list[watch.Task]) -> int:
        folders = self.config["writable"]
        nameless = usage.mapped_files(tree, folders)
        nameless.update(usage.open_files(tree, self.devices).disk)
        return usage.folder_size(folders) + sum(nameless.values())


def _own_shared_memory(machines: int) -> int:
    """The file system of this mount namespace's own /dev/shm; 0 where it is the machine's."""
    try:
        found = os.stat(_SHARED).st_dev
    except OSError:
        return 0
    return found if found != machines else 0
