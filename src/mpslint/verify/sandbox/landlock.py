"""Landlock: which files a process may read and write, where mount namespaces are forbidden (Linux
>= 5.13).

Source: the kernel's Documentation/userspace-api/landlock.rst.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable

from mpslint.verify.sandbox import syscalls

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_ON_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | (1 << 14) | (1 << 15)
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_IOCTL_DEVICE, _RESOLVE_UNIX = 1 << 15, 1 << 16
# Since which version of Landlock a right on files is known.
_SINCE = {1: (1 << 13) - 1, 2: 1 << 13, 3: 1 << 14, 5: _IOCTL_DEVICE, 9: _RESOLVE_UNIX}
_TCP = 3  # bind and connect, since 4
_SCOPES = 3  # abstract unix sockets and signals, since 6
_PATH_BENEATH = 1


class _Ruleset(ctypes.Structure):
    """Longer with each version: `_size` says how much of it the kernel knows."""

    _fields_ = [
        ("handled_access_fs", ctypes.c_uint64),
        ("handled_access_net", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    ]


def _size(version: int) -> int:
    return 24 if version >= 6 else 16 if version >= 4 else 8


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32)]


def abi() -> int:
    """The Landlock version of this kernel; OSError where there is none."""
    return syscalls.syscall(
        syscalls.SYS_LANDLOCK_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint(1)
    )


def _allow(ruleset: int, path: str, access: int) -> None:
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not os.path.isdir(path):
            access &= _ON_FILES
        rule = _PathBeneath(access, handle)
        syscalls.syscall(
            syscalls.SYS_LANDLOCK_ADD,
            ctypes.c_int(ruleset),
            ctypes.c_int(_PATH_BENEATH),
            ctypes.byref(rule),
            ctypes.c_uint(0),
        )
    finally:
        os.close(handle)


def readable_around(hidden: Iterable[str]) -> list[str]:
    """Every file and folder that together make up the file system without the hidden folders."""
    secret = {os.path.realpath(path) for path in hidden}
    found: list[str] = []
    pending = ["/"]
    while pending:
        folder = pending.pop()
        if not any(path.startswith(folder.rstrip("/") + "/") for path in secret):
            found.append(folder)
            continue
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        inside = [os.path.join(folder, name) for name in names]
        pending += [path for path in inside if os.path.realpath(path) not in secret]
    return found


def devices() -> list[str]:
    """The device files that ordinary programs use, and the process's own files, to which NVIDIA's
    driver writes; never a disk, nor another terminal.
    """
    names = ["null", "zero", "full", "random", "urandom", "tty", "shm", "fd", "kfd", "dri", "dxg"]
    names += [name for name in os.listdir("/dev") if name.startswith("nvidia")]
    return [*(f"/dev/{name}" for name in names), "/proc/self"]


def restrict(readable: Iterable[str], writable: Iterable[str]) -> None:
    """From here on this process and its children can only read and write below the given paths,
    reach no port, and, where the kernel knows how, neither signal other programs nor reach their
    abstract sockets.
    """
    version = abi()
    handled = sum(rights for since, rights in _SINCE.items() if since <= version)
    rules = _Ruleset(handled, _TCP, _SCOPES)
    size = ctypes.c_size_t(_size(version))
    ruleset = syscalls.syscall(
        syscalls.SYS_LANDLOCK_CREATE, ctypes.byref(rules), size, ctypes.c_uint(0)
    )
    try:
        for path in readable:
            _allow(ruleset, path, _READ)
        for path in writable:
            _allow(ruleset, path, handled)
        syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
        syscalls.syscall(syscalls.SYS_LANDLOCK_RESTRICT, ctypes.c_int(ruleset), ctypes.c_uint(0))
    finally:
        os.close(ruleset)
