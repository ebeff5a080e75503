"""A seccomp filter that forbids internet sockets, for systems that forbid network namespaces
(containers).

Unprivileged: it needs nothing but no_new_privs. Unix sockets stay, data loaders and
multiprocessing need them.
"""

from __future__ import annotations

import ctypes
import platform
import struct

from mpslint.verify.sandbox import syscalls

_ARCH = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198), "riscv64": (0xC00000F3, 198)}
_IO_URING_SETUP = 425
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _ERRNO_EACCES = 0x7FFF0000, 0x00050000 | 13
_FAMILIES = (2, 10, 17, 40)  # AF_INET, AF_INET6, AF_PACKET, AF_VSOCK


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def _program(architecture: int, socket_number: int) -> bytes:
    def op(code: int, value: int, when_true: int = 0, when_false: int = 0) -> bytes:
        return struct.pack("HBBI", code, when_true, when_false, value)

    families = len(_FAMILIES)
    lines = [
        op(_LOAD, 4),  # seccomp_data.arch
        op(_EQUAL, architecture, 0, families + 5),
        op(_LOAD, 0),  # seccomp_data.nr
        op(_EQUAL, _IO_URING_SETUP, families + 3, 0),
        op(_EQUAL, socket_number, 0, families + 1),
        op(_LOAD, 16),  # the low half of the first argument: the address family
        *(op(_EQUAL, family, families - index, 0) for index, family in enumerate(_FAMILIES)),
        op(_RETURN, _ALLOW),
        op(_RETURN, _ERRNO_EACCES),
    ]
    return b"".join(lines)


def forbid_network() -> None:
    """Raises OSError where the kernel or the processor is not supported."""
    known = _ARCH.get(platform.machine())
    if known is None:
        raise OSError(f"no seccomp filter for {platform.machine()}")
    code = _program(*known)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    syscalls.prctl_pointer(syscalls.PR_SET_SECCOMP, 2, ctypes.byref(program))
