"""A seccomp filter: the policy's rules as a program for the kernel.

Unprivileged: it needs nothing but no_new_privs. Source: the kernel's
Documentation/userspace-api/seccomp_filter.rst.
"""

from __future__ import annotations

import ctypes
import errno
import struct
from collections.abc import Iterable

from mpslint.verify.sandbox import calls, syscalls
from mpslint.verify.sandbox.policy import ASK, Rule, Where

_LOAD, _AND, _RETURN = 0x20, 0x54, 0x06
_EQUAL, _GREATER, _AT_LEAST = 0x15, 0x25, 0x35
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_ALLOW, _ERROR, _NOTIFY = 0x7FFF0000, 0x00050000, 0x7FC00000
_X32 = 0x40000000
_SET_FILTER, _NEW_LISTENER, _WAIT_KILLABLE = 1, 1 << 3, 1 << 5


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def _op(code: int, value: int, when_true: int = 0, when_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, when_true, when_false, value)


def _error(number: int) -> bytes:
    return _op(_RETURN, _ERROR | number)


def _condition(where: Where, rest: int) -> list[bytes]:
    """Goes on with the next line when it holds, and leaps over `rest` more lines when not."""
    lines = [_op(_LOAD, _ARGUMENTS + 8 * where.argument), _op(_AND, where.mask)]
    count = len(where.values)
    for index, value in enumerate(where.values):
        left = count - index - 1
        if where.holds:
            lines.append(_op(_EQUAL, value, left, 0 if left else rest))
        else:
            lines.append(_op(_EQUAL, value, left + rest, 0))
    return lines


def _block(number: int, rule: Rule) -> bytes:
    lines = [_op(_RETURN, _NOTIFY) if rule.answer == ASK else _error(rule.answer)]
    for where in reversed(rule.where):
        lines = [*_condition(where, len(lines)), *lines]
    return b"".join([_op(_LOAD, _NUMBER), _op(_EQUAL, number, 0, len(lines)), *lines])


def program(rules: Iterable[Rule], machine: str = "") -> bytes:
    """The filter's code. Calls of another architecture, of the x32 table, and calls that are newer
    than the policy are unknown to the command."""
    architecture, numbers = calls.table(machine)
    return b"".join(
        [
            _op(_LOAD, _ARCHITECTURE),
            _op(_EQUAL, architecture, 1, 0),
            _error(errno.ENOSYS),
            _op(_LOAD, _NUMBER),
            _op(_AT_LEAST, _X32, 1, 0),
            _op(_GREATER, calls.LAST, 0, 1),
            _error(errno.ENOSYS),
            *(_block(numbers[rule.call], rule) for rule in rules if rule.call in numbers),
            _op(_RETURN, _ALLOW),
        ]
    )


def install(rules: Iterable[Rule], listen: bool = False) -> int:
    """Bind this process and its children to the rules; the warden's end, where one is to `listen`.

    Raises OSError where the kernel or the processor is not supported.
    """
    code = program(rules)
    buffer = ctypes.create_string_buffer(code, len(code))
    filter_ = _Program(len(code) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    if not listen:
        syscalls.prctl_pointer(syscalls.PR_SET_SECCOMP, 2, ctypes.byref(filter_))
        return -1
    number = calls.table()[1]["seccomp"]
    for flags in (_NEW_LISTENER | _WAIT_KILLABLE, _NEW_LISTENER):
        try:
            mode, bits = ctypes.c_uint(_SET_FILTER), ctypes.c_uint(flags)
            return syscalls.syscall(number, mode, bits, ctypes.byref(filter_))
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
    raise OSError(errno.EINVAL, "no seccomp listener in this kernel")
