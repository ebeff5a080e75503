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
from typing import NamedTuple

_PAGE = os.sysconf("SC_PAGE_SIZE")


class Task(NamedTuple):
    pid: int
    parent: int
    threads: int
    memory: int  # bytes that this process shares with no file


def tasks() -> list[Task]:
    """Every process that can be seen."""
    return _from_proc() if sys.platform == "linux" else _from_ps()


def _from_proc() -> list[Task]:
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
            with open(f"/proc/{name}/statm", "rb") as file:
                memory = file.read().split()
        except OSError:
            continue
        if fields[0] != b"Z":
            own = max(int(memory[1]) - int(memory[2]), 0) * _PAGE
            found.append(Task(int(name), int(fields[1]), int(fields[17]), own))
    return found


def _from_ps() -> list[Task]:
    listing = subprocess.run(
        ["ps", "-axo", "pid=,ppid=,rss="], capture_output=True, text=True, check=False
    ).stdout
    rows = [line.split() for line in listing.splitlines()]
    return [Task(int(r[0]), int(r[1]), 1, int(r[2]) * 1024) for r in rows if len(r) == 3]


def below(root: int, listing: list[Task]) -> list[Task]:
    """The descendants of a process, nearest first."""
    children: dict[int, list[Task]] = {}
    for task in listing:
        children.setdefault(task.parent, []).append(task)
    found: list[Task] = []
    pending = [root]
    while pending:
        for task in children.get(pending.pop(0), ()):
            found.append(task)
            pending.append(task.pid)
    return found


def proportional_memory(listing: list[Task]) -> int:
    """Bytes in use, pages that forked processes share counted once (slow: asked only near the
    limit).
    """
    total = 0
    for task in listing:
        try:
            with open(f"/proc/{task.pid}/smaps_rollup", "rb") as file:
                lines = file.read().splitlines()
            total += sum(int(line.split()[1]) * 1024 for line in lines if line[:4] == b"Pss:")
        except (OSError, ValueError, IndexError):
            total += task.memory
    return total


def folder_size(paths: list[str]) -> int:
    """Bytes on disk below the folders; links are not followed."""
    total = 0
    pending = list(paths)
    while pending:
        try:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
                    else:
                        total += entry.stat(follow_symlinks=False).st_blocks * 512
        except OSError:
            continue
    return total


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
        for number in (
            signal.SIGSTOP,
            signal.SIGKILL,
        ):  # stopped first: a fork bomb cannot outrun us
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
