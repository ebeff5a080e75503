"""What the processes below one process use: found by parent id, so that nothing that was started
escapes.

Linux reads /proc; elsewhere `ps` is asked, and a process that detached itself is known only if it
was seen before.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Iterable
from typing import NamedTuple

_FORGETS = 1.0  # seconds
_IN_MEMORY = (b"RssAnon", b"RssShmem", b"VmSwap")


class Task(NamedTuple):
    pid: int
    parent: int
    threads: int
    memory: int  # bytes that this process shares with no file, and of what it shares with others


def tasks(known: Collection[int] = ()) -> list[Task]:
    """Every process that can be seen, but for these; what it uses of memory is asked of those that
    count.
    """
    return _from_proc(known) if sys.platform == "linux" else _from_ps()


def _from_proc(known: Collection[int]) -> list[Task]:
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) in known:
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
            if fields[0] != b"Z":
                found.append(Task(int(name), int(fields[1]), int(fields[17]), 0))
        except OSError:
            continue
    return found


def weighed(listing: list[Task]) -> list[Task]:
    """The same processes with what they use of memory, without those that have ended since."""
    if sys.platform != "linux":
        return listing
    found = []
    for task in listing:
        try:
            own = _kilobytes(f"/proc/{task.pid}/status", _IN_MEMORY)
        except OSError:
            continue
        found.append(task._replace(memory=own))
    return found


def _kilobytes(path: str, names: Collection[bytes]) -> int:
    """The sum, in bytes, of some lines of a file of /proc."""
    with open(path, "rb") as file:
        lines = file.read().splitlines()
    return sum(int(ln.split()[1]) * 1024 for ln in lines if ln.partition(b":")[0] in names)


def _from_ps() -> list[Task]:
    listing = subprocess.run(
        ["ps", "-axo", "pid=,ppid=,rss="], capture_output=True, text=True, check=False
    ).stdout
    rows = [line.split() for line in listing.splitlines()]
    return [Task(int(r[0]), int(r[1]), 1, int(r[2]) * 1024) for r in rows if len(r) == 3]


def below(root: int, listing: list[Task]) -> list[Task]:
    """The descendants of a process, nearest first."""
    return _below([root], listing)


def _below(roots: Iterable[int], listing: list[Task]) -> list[Task]:
    children: dict[int, list[Task]] = {}
    for task in listing:
        children.setdefault(task.parent, []).append(task)
    found: list[Task] = []
    pending = list(roots)
    while pending:
        for task in children.pop(pending.pop(0), ()):
            found.append(task)
            pending.append(task.pid)
    return found


class Tree:
    """The descendants of a process, for who asks often.

    Of a machine's many processes most are somebody else's, and stay so: who comes from the first
    process by others than this one is not looked at for a while. Not longer, since its number may
    be given to another one.
    """

    def __init__(self, root: int) -> None:
        self.root = root
        self._others: set[int] = set()
        self._until = 0.0

    def now(self) -> list[Task]:
        """As `below` of all tasks."""
        moment = time.monotonic()
        if moment >= self._until:
            self._others, self._until = set(), moment + _FORGETS
        listing = tasks(self._others)
        found = below(self.root, listing)
        own = {self.root, *(task.pid for task in found)}
        strange = [task for task in listing if task.pid not in own]
        self._others.update(task.pid for task in _below([0, *self._others], strange))
        return found


def end_all(root: int, seen: set[int], patience: float = 5.0) -> bool:
    """Kill every descendant of this process, and what was seen to be one before; whether none is
    left.
    """
    deadline = time.monotonic() + patience
    while True:
        alive = {task.pid for task in below(root, tasks())} | {p for p in seen if _alive(p)}
        alive.discard(root)
        if not alive:
            return True
        if time.monotonic() > deadline:
            return False
        # Stopped first: a fork bomb cannot outrun us.
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in alive:
                try:
                    os.kill(pid, number)
                except OSError:
                    continue
        _reap()
        time.sleep(0.01)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
