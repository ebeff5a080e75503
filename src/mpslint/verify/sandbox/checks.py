"""Measure, inside the sandbox and just before the command starts, what is really out of reach.

A line of the report says "isolated" because one of these tries failed as it should, not because a
call returned 0.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable


def network_is_forbidden() -> bool:
    """Connecting a datagram socket sends nothing; it only asks the kernel for a way to the
    address. A virtual machine's line to its host needs no address.
    """
    for family, address in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as sock:
                sock.connect((address, 9))
        except OSError:
            continue
        return False
    try:
        socket.socket(getattr(socket, "AF_VSOCK", 40), socket.SOCK_STREAM).close()
    except OSError:
        return True
    return sys.platform != "linux"


def sockets_are_forbidden(path: str, abstract: str) -> bool:
    """The parent listens at both; a long path is reached through its folder."""
    folder, name = os.path.split(path)
    try:
        handle = os.open(folder, getattr(os, "O_PATH", os.O_RDONLY))
        way = f"/proc/self/fd/{handle}/{name}" if sys.platform == "linux" else path
    except OSError:
        handle, way = -1, path
    try:
        return not any(_answers(address) for address in (way, abstract and "\0" + abstract))
    finally:
        if handle >= 0:
            os.close(handle)


def _answers(address: str) -> bool:
    if not address:
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.settimeout(5.0)
        try:
            sock.connect(address)
        except OSError:
            return False
    return True


def signals_are_forbidden(process: int, space: str) -> bool:
    """Signal 0 does nothing but ask; `process` is mpslint's own, and `space` its process
    namespace, in which alone its number means anything.
    """
    try:
        own = os.readlink("/proc/self/ns/pid") if space else ""
    except OSError:
        own = ""
    if own != space and own:
        return True
    try:
        os.kill(process, 0)
    except OSError:
        return True
    return False


def metadata_is_forbidden(path: str) -> bool:
    """Mode, time and attributes of a file of the parent's cannot be changed."""
    tries: list[Callable[[], object]] = [
        lambda: os.chmod(path, 0o640),
        lambda: os.utime(path, (0, 0)),
    ]
    if sys.platform == "linux":
        tries.append(lambda: os.setxattr(path, "user.mpslint", b"1"))
    for change in tries:
        try:
            change()
        except OSError:
            continue
        return False
    return True


def shared_memory_is_own(device: int) -> bool:
    """`device`: the file system of the machine's /dev/shm (0: there is none)."""
    try:
        return sys.platform == "linux" and os.stat("/dev/shm").st_dev != device
    except OSError:
        return True


def writes_are_forbidden(folders: list[str], own: list[str]) -> bool:
    """No file can be made in any of the folders (each try is undone at once).

    What appears in one of the command's own folders, too, was made there: a private folder stands
    in for /tmp.
    """
    for folder in folders:
        path = os.path.join(folder, f".mpslint-canary-{os.getpid()}")
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except OSError:
            continue
        inside = _is_inside(path, own)
        os.unlink(path)
        if not inside:
            return False
    return True


def _is_inside(path: str, own: list[str]) -> bool:
    """Whether a file lies in one of the folders under another name."""
    places = {_identity(folder): folder for folder in own}
    above, made = path, _identity(path)
    while above != os.path.dirname(above):
        above = os.path.dirname(above)
        if (place := places.get(_identity(above))) is None:
            continue
        try:
            return _identity(os.path.join(place, os.path.relpath(path, above))) == made
        except OSError:
            return False
    return False


def _identity(folder: str) -> tuple[int, int]:
    found = os.stat(folder)
    return found.st_dev, found.st_ino


def holds(folder: str, path: str) -> bool:
    """Whether a path is a folder or lies in it."""
    return (path.rstrip(os.sep) + os.sep).startswith(folder.rstrip(os.sep) + os.sep)


def open_folders(folders: list[str], kept: list[str], own: list[str]) -> list[str]:
    """Those of the folders that show more than the way to the kept paths.

    One that is the command's own under another name, such as a stand-in for /tmp, shows nothing.
    """
    inside = {_identity(folder) for folder in own}
    found = []
    for folder in folders:
        try:
            names = [] if _identity(folder) in inside else os.listdir(folder)
        except OSError:
            continue
        paths = [os.path.join(folder, name) for name in names]
        if not all(any(holds(path, keep) for keep in kept) for path in paths):
            found.append(folder)
    return found


def shown_below(folders: list[str], kept: list[str], own: list[str]) -> list[str]:
    """The kept paths in the folders that can be seen, without those that lie in another one, and
    without where the command's own folders are.
    """
    below = [path for path in kept if any(holds(folder, path) for folder in folders)]
    seen = sorted({path for path in below if os.path.exists(path)})
    seen = [path for path in seen if not any(holds(path, folder) for folder in own)]
    return [
        path for path in seen if not any(other != path and holds(other, path) for other in seen)
    ]
