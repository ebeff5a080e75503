"""Measure, inside the sandbox and just before the command starts, what is really out of reach.

A line of the report says "isolated" because one of these tries failed as it should, not because a
call returned 0.
"""

from __future__ import annotations

import os
import socket


def network_is_forbidden() -> bool:
    """Connecting a datagram socket sends nothing; it only asks the kernel for a way to the
    address.
    """
    for family, address in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as sock:
                sock.connect((address, 9))
        except OSError:
            continue
        return False
    return True


def writes_are_forbidden(folders: list[str], own: list[str]) -> bool:
    """No file can be made in any of the folders (each try is undone at once).

    A folder that is one of the command's own under another name, such as the private folder that
    stands in for /tmp, is not outside.
    """
    inside = {_identity(folder) for folder in own}
    for folder in folders:
        path = os.path.join(folder, f".mpslint-canary-{os.getpid()}")
        try:
            if _identity(folder) in inside:
                continue
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except OSError:
            continue
        os.unlink(path)
        return False
    return True


def _identity(folder: str) -> tuple[int, int]:
    found = os.stat(folder)
    return found.st_dev, found.st_ino


def folders_are_hidden(folders: list[str], kept: list[str]) -> bool:
    """The folders show nothing but the way to the kept paths."""
    for folder in folders:
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        for name in names:
            path = os.path.join(folder, name)
            if not any(keep == path or keep.startswith(path + os.sep) for keep in kept):
                return False
    return True
