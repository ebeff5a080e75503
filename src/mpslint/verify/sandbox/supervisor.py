"""The warden's answers to calls that are right inside the copy and wrong outside of it.

The kernel stops the caller and asks (seccomp's user notification). What a path or an address says
is read once and then acted upon here, with a handle on the file itself, so that the caller cannot
change it between the look and the deed. Only calls whose arguments are plain numbers are allowed
to go on by themselves.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import select
import socket
import stat
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from mpslint.verify.sandbox import calls, syscalls
from mpslint.verify.sandbox.checks import holds

_RECEIVE, _SEND, _STILL_THERE = 0xC0502100, 0xC0182101, 0x40082102
_NOTICE, _ANSWER = "QIIiIQ6Q", "QqiI"
_GO_ON = 1
_HERE = -100  # AT_FDCWD
_NO_FOLLOW, _EMPTY_PATH = 0x100, 0x1000
_PAGE, _LONGEST = 4096, 4096

_libc = ctypes.CDLL(None, use_errno=True)


class _Call(NamedTuple):
    id: int
    process: int
    arguments: tuple[int, ...]

    def number(self, index: int) -> int:
        """An argument as the C type int."""
        return ctypes.c_int(self.arguments[index] & 0xFFFFFFFF).value


class _NotYet(Exception):
    """The answer has to be asked for once more, later."""


def can_watch(child: int) -> bool:
    """Whether this process may look into a child, as answering needs it (Linux 5.6 and newer,
    unless the system's ptrace rules forbid it).
    """
    try:
        os.close(_handle_of(child, 0))
        os.close(os.open(f"/proc/{child}/mem", os.O_RDONLY | os.O_CLOEXEC))
    except OSError:
        return False
    return True


def _handle_of(process: int, number: int) -> int:
    """Our own handle on what another process has open."""
    table = calls.table()[1]
    pidfd = syscalls.syscall(table["pidfd_open"], ctypes.c_int(process), ctypes.c_uint(0))
    try:
        arguments = ctypes.c_int(pidfd), ctypes.c_int(number), ctypes.c_uint(0)
        return syscalls.syscall(table["pidfd_getfd"], *arguments)
    finally:
        os.close(pidfd)


class Supervisor:
    """Answers one question after the other, without ever waiting for what one of them asks for.

    Without threads, since a process that made a process namespace may not start any. `writable`:
    folders in which a command may change modes and times, and connect to sockets, as in those that
    it has private `stand_ins` for, but for what is `kept` of them; `own_network`: sockets without a
    path, too, can only be the command's own. `post` is where the command's side hands over the
    listener.
    """

    def __init__(
        self,
        post: socket.socket,
        writable: Sequence[str],
        stand_ins: Sequence[str],
        kept: Sequence[str],
        own_network: bool,
    ) -> None:
        self.post: socket.socket | None = post
        self.listener = -1
        self.writable = [os.path.realpath(path) for path in writable]
        self.stand_ins, self.kept = stand_ins, kept
        self.own_network = own_network
        self.root = os.getpid()
        self.waiting: list[tuple[int, _Call]] = []
        known = calls.table()[1]
        answers: dict[str, Callable[[_Call], bool]] = {
            "connect": self._connect,
            "chmod": lambda call: self._mode(call, None, 0, 1),
            "fchmod": lambda call: self._mode(call, 0, None, 1),
            "fchmodat": lambda call: self._mode(call, 0, 1, 2),
            "fchmodat2": lambda call: self._mode(call, 0, 1, 2, call.number(3)),
            "utimensat": self._times,
        }
        answers |= dict.fromkeys(("kill", "tkill", "rt_sigqueueinfo", "prlimit64"), self._process)
        answers |= dict.fromkeys(("tgkill", "rt_tgsigqueueinfo"), self._thread)
        for name in ("affinity", "scheduler", "param", "attr"):
            answers[f"sched_set{name}"] = self._process
        self.answers = {known[name]: answer for name, answer in answers.items() if name in known}

    def sources(self) -> list[int]:
        """What to wait for: the listener, or where it will come from."""
        if self.post is not None:
            return [self.post.fileno()]
        return [self.listener] if self.listener >= 0 else []

    def attend(self) -> None:
        """Answer what was asked, and try once more what could not be done yet."""
        if self.post is not None:
            if select.select([self.post], [], [], 0)[0]:
                _, handles, _, _ = socket.recv_fds(self.post, 1, 1)
                self.post.close()
                self.post = None
                self.listener = handles[0] if handles else -1
            return
        waiting, self.waiting = self.waiting, []
        for number, call in waiting:
            self._reply(number, call)
        look = select.poll()
        if self.listener >= 0:
            look.register(self.listener, select.POLLIN)
        while happened := look.poll(0):
            if not happened[0][1] & select.POLLIN:  # nobody is left that could ask
                os.close(self.listener)
                self.listener = -1
                return
            self._take()

    def _take(self) -> None:
        notice = bytearray(struct.calcsize(_NOTICE))
        with contextlib.suppress(OSError):  # the caller was killed while it waited
            fcntl.ioctl(self.listener, _RECEIVE, notice)
            id_, asking, _, number, _, _, *arguments = struct.unpack(_NOTICE, notice)
            self._reply(number, _Call(id_, asking, tuple(arguments)))

    def _reply(self, number: int, call: _Call) -> None:
        error, flags = -errno.EPERM, 0
        try:
            goes_on = self.answers[number](call._replace(process=_leader(call.process)))
            error, flags = 0, _GO_ON if goes_on else 0
        except _NotYet:
            with contextlib.suppress(OSError):
                fcntl.ioctl(self.listener, _STILL_THERE, struct.pack("Q", call.id))
                self.waiting.append((number, call))
            return
        except OSError as found:
            error = -(found.errno or errno.EPERM)
        except (KeyError, ValueError):
            pass
        with contextlib.suppress(OSError):
            answer = bytearray(struct.pack(_ANSWER, call.id, 0, error, flags))
            fcntl.ioctl(self.listener, _SEND, answer)

    def _connect(self, call: _Call) -> bool:
        size = min(call.arguments[2] & 0xFFFFFFFF, 128)
        address = _memory(call.process, call.arguments[1], size)
        if size < 2:
            raise OSError(errno.EINVAL, "no address")
        with socket.socket(fileno=_handle_of(call.process, call.number(0))) as sock:
            if sock.family != socket.AF_UNIX or (self.own_network and address[2:3] == b"\0"):
                _connect(sock, address)
                return False
            path = address[2:].partition(b"\0")[0]
            if not path:
                raise OSError(errno.EACCES, "a socket of somebody else, maybe")
            with self._own(call, None, os.fsdecode(path)) as file:
                way = os.fsencode(f"/proc/self/fd/{file}")
                _connect(sock, struct.pack("H", socket.AF_UNIX) + way + b"\0")
        return False

    def _mode(
        self, call: _Call, folder: int | None, path: int | None, mode: int, flags: int = 0
    ) -> bool:
        with self._named(call, folder, path, flags) as file:
            wanted = call.arguments[mode] & 0o7777
            if not stat.S_ISDIR(os.fstat(file).st_mode):
                wanted &= 0o1777  # the warden may have more rights than the command
            os.chmod(f"/proc/self/fd/{file}", wanted)
        return False

    def _times(self, call: _Call) -> bool:
        moments = _memory(call.process, call.arguments[2], 32) if call.arguments[2] else None
        path = 1 if call.arguments[1] else None
        with self._named(call, 0, path, call.number(3)) as file:
            way = os.fsencode(f"/proc/self/fd/{file}")
            if _libc.utimensat(_HERE, way, moments, 0):
                raise OSError(ctypes.get_errno(), "utimensat")
        return False

    def _named(
        self, call: _Call, folder: int | None, path: int | None, flags: int
    ) -> contextlib.AbstractContextManager[int]:
        """The file that a folder's number and a path name (None: the arguments have no such)."""
        text = _text(call.process, call.arguments[path]) if path is not None else ""
        if path is not None and not text and not flags & _EMPTY_PATH:
            raise FileNotFoundError(errno.ENOENT, "empty path")
        base = call.number(folder) if folder is not None else _HERE
        return self._own(call, base, text, bool(flags & _NO_FOLLOW))

    @contextlib.contextmanager
    def _own(self, call: _Call, base: int | None, path: str, itself: bool = False) -> Iterator[int]:
        """A handle on a file; PermissionError where it lies outside of the writable folders."""
        proc = f"/proc/{call.process}"
        for alias in ("/proc/self/", "/proc/thread-self/"):
            if path.startswith(alias):
                path = f"{proc}/{path[len(alias) :]}"
        if not path.startswith("/"):
            start = "cwd" if base in (None, _HERE) else f"fd/{base}"
            path = f"{proc}/{start}/{path}".rstrip("/") if path else f"{proc}/{start}"
        file = os.open(path, os.O_PATH | os.O_CLOEXEC | (os.O_NOFOLLOW if itself else 0))
        try:
            real = os.readlink(f"/proc/self/fd/{file}")
            if not self._is_own(real):
                raise PermissionError(errno.EPERM, f"{real}: outside of the copy")
            yield file
        finally:
            os.close(file)

    def _is_own(self, path: str) -> bool:
        if any(holds(folder, path) for folder in self.writable):
            return True
        there = any(holds(folder, path) for folder in self.stand_ins)
        return there and not any(holds(folder, path) for folder in self.kept)

    def _process(self, call: _Call) -> bool:
        target = call.number(0)
        if target == -1:
            raise PermissionError(errno.EPERM, "every process of the user")
        members = [target] if target > 0 else _group(-target)
        if not members:
            raise ProcessLookupError(errno.ESRCH, "no such process")
        return self._all_below(members)

    def _thread(self, call: _Call) -> bool:
        return self._all_below([call.number(0), call.number(1)])

    def _all_below(self, processes: Sequence[int]) -> bool:
        for process in processes:
            above = _parent(process)
            while above > 1 and above != self.root:
                above = _parent(above)
            if above != self.root:
                raise PermissionError(errno.EPERM, "a process of somebody else")
        return True


def _connect(sock: socket.socket, address: bytes) -> None:
    """Never waits, even for a socket that would: its flag is the caller's too, who waits for us."""
    flags = fcntl.fcntl(sock, fcntl.F_GETFL)
    waits = not flags & os.O_NONBLOCK
    if waits:
        fcntl.fcntl(sock, fcntl.F_SETFL, flags | os.O_NONBLOCK)
    try:
        failed = _libc.connect(sock.fileno(), address, len(address))
        error = ctypes.get_errno()
    finally:
        if waits:
            fcntl.fcntl(sock, fcntl.F_SETFL, flags)
    if failed and waits and error in (errno.EAGAIN, errno.EINPROGRESS, errno.EALREADY):
        raise _NotYet
    if failed:
        raise OSError(error, "connect")


def _memory(process: int, address: int, size: int) -> bytes:
    try:
        with open(f"/proc/{process}/mem", "rb", buffering=0) as file:
            return os.pread(file.fileno(), size, address)
    except (OverflowError, OSError):
        raise OSError(errno.EFAULT, "bad address") from None


def _text(process: int, address: int) -> str:
    found = b""
    while b"\0" not in found and len(found) < _LONGEST:
        at = address + len(found)
        part = _memory(process, at, _PAGE - at % _PAGE)
        if not part:
            raise OSError(errno.EFAULT, "bad address")
        found += part
    if b"\0" not in found:
        raise OSError(errno.ENAMETOOLONG, "path too long")
    return os.fsdecode(found.partition(b"\0")[0])


def _leader(thread: int) -> int:
    with open(f"/proc/{thread}/status", encoding="utf-8", errors="replace") as file:
        line = next(line for line in file if line.startswith("Tgid:"))
    return int(line.split()[1])


def _stat(process: int) -> list[bytes]:
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()
    except FileNotFoundError:
        raise ProcessLookupError(errno.ESRCH, "no such process") from None


def _parent(process: int) -> int:
    return int(_stat(process)[1])


def _group(number: int) -> list[int]:
    found = []
    for name in os.listdir("/proc"):
        with contextlib.suppress(ProcessLookupError, IndexError):
            if name.isdigit() and int(_stat(int(name))[2]) == number:
                found.append(int(name))
    return found
