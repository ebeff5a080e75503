"""What a command really holds of memory and disk, also where no process and no folder shows it.

Memory without a page in any process: files in /dev/shm, `memfd_create`, shared mappings. Disk
without a name: deleted files that are still open or mapped. All of it is found in the processes'
own lists (/proc/PID/fd, /proc/PID/smaps); what travels between two processes in a socket at the
moment of looking, and the kernel's own buffers, are not seen.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from mpslint.verify.sandbox.watch import Task

_LEAST = 16 << 10
"""What a file counts at least: file systems have about one inode for so many bytes."""
_IN_MEMORY = ("/memfd:", "/dev/shm/", "/dev/zero", "/SYSV")
_DELETED = " (deleted)"

_File = tuple[int, int]


class Open(NamedTuple):
    """Bytes of files without a name on disk, and of files that are memory, each counted once."""

    disk: dict[_File, int]
    memory: dict[_File, int]


NOTHING_OPEN = Open({}, {})


def open_files(tasks: Iterable[Task], devices: Collection[int], own_shared: int = 0) -> Open:
    """What the processes have open that no folder shows.

    `devices`: the file systems that count as disk; `own_shared`: that of a /dev/shm of their own,
    which is counted as a whole.
    """
    found = Open({}, {})
    for task in tasks:
        folder = f"/proc/{task.pid}/fd"
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        for name in names:
            path = f"{folder}/{name}"
            try:
                way = os.readlink(path)
                if not way.startswith(_IN_MEMORY) and not way.endswith(_DELETED):
                    continue
                info = os.stat(path)
            except OSError:
                continue
            file = (info.st_dev, info.st_ino)
            if info.st_dev in devices:
                if stat.S_ISREG(info.st_mode) and not info.st_nlink:
                    found.disk[file] = max(info.st_blocks * 512, _LEAST)
            elif info.st_dev != own_shared:
                found.memory[file] = info.st_blocks * 512
    return found


def mapped_files(tasks: Iterable[Task], folders: Sequence[str]) -> dict[_File, int]:
    """Bytes of deleted files of the folders that are still mapped, open or not."""
    found: dict[_File, int] = {}
    starts = tuple(os.fsencode(folder) + b"/" for folder in folders)
    for task in tasks:
        try:
            with open(f"/proc/{task.pid}/maps", "rb") as file:
                lines = [line for line in file if line.endswith(b" (deleted)\n")]
        except OSError:
            continue
        sizes: dict[_File, int] = {}
        for line in lines:
            parts = line.split(None, 5)
            if len(parts) == 6 and parts[5].startswith(starts):
                low, _, high = parts[0].partition(b"-")
                key = _identity(parts)
                sizes[key] = sizes.get(key, 0) + int(high, 16) - int(low, 16)
        found.update({key: max(size, found.get(key, 0)) for key, size in sizes.items()})
    return found


def space_used(path: str) -> int:
    """Bytes in use of a file system."""
    space = os.statvfs(path)
    return (space.f_blocks - space.f_bfree) * space.f_frsize


def memory_at_most(tasks: Iterable[Task], opened: Open) -> int:
    """Cheap, and never too little: what processes share is counted for each of them."""
    return sum(task.memory for task in tasks) + sum(opened.memory.values())


def memory(tasks: Iterable[Task], opened: Open, own_shared: int = 0) -> int:
    """Bytes in use, what processes share counted once (slow: asked only near the limit)."""
    private, mapped = 0, dict.fromkeys(opened.memory, 0)
    for task in tasks:
        try:
            with open(f"/proc/{task.pid}/smaps", "rb") as file:
                private += _mappings(file.read().splitlines(), mapped)
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended since it was listed
        except OSError:
            private += task.memory
    return private + sum(
        max(size, opened.memory.get(file, 0))
        for file, size in mapped.items()
        if file[0] != own_shared
    )


def _mappings(lines: Iterable[bytes], mapped: dict[_File, int]) -> int:
    """The proportional size of what is no file's; that of each mapped file that is memory is added
    to `mapped`."""
    private = size = 0
    parts: list[bytes] = []
    for line in lines:
        name, _, rest = line.partition(b":")
        if b" " in name:
            parts = line.split(None, 5)
        elif name == b"Pss":
            size = int(rest.split()[0]) * 1024
        elif name == b"SwapPss":
            private += int(rest.split()[0]) * 1024
        elif name == b"Anonymous":
            if len(parts) == 6 and os.fsdecode(parts[5]).startswith(_IN_MEMORY):
                file = _identity(parts)
                mapped[file] = mapped.get(file, 0) + size
            elif len(parts) == 6 and parts[5].startswith(b"/"):
                private += min(size, int(rest.split()[0]) * 1024)  # pages changed since it was read
            else:
                private += size
    return private


def _identity(parts: Sequence[bytes]) -> _File:
    """Of a line such as `7f..-7f.. rw-s 00000000 00:01 1234   /memfd:x (deleted)`."""
    major, _, minor = parts[3].partition(b":")
    return os.makedev(int(major, 16), int(minor, 16)), int(parts[4])


def folder_size(paths: Iterable[str]) -> int:
    """Bytes on disk below the folders, each file's with a least; links are not followed."""
    total = 0
    pending = list(paths)
    while pending:
        try:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    size = entry.stat(follow_symlinks=False).st_blocks * 512
                    total += max(size, _LEAST)
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
        except OSError:
            continue
    return total
