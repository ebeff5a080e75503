"""Which system calls a command may not make, and which ones the warden has to agree to.

A filter sees numbers, not what pointers point at: calls that are harmless inside the copy and
harmful outside of it, such as `chmod` and `connect`, are handed to the warden (`supervisor`) where
the system allows that, and refused where it does not.
"""

from __future__ import annotations

import errno
from typing import NamedTuple

ASK = -1
"""Instead of an error number: the warden decides."""

_UNIX, _INTERNET, _NETLINK = 1, (2, 10), 16
_NEW_NAMESPACES = 0x7E020000  # every CLONE_NEW* flag of clone
_TERMINAL_INPUT = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX: type into the user's terminal
_FILE_FLAGS = (0x40086602, 0x40046602, 0x401C5820)  # FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR
_SET_DUMPABLE, _NEW_LISTENER, _DATAGRAM, _USER = 4, 8, 2, 2


class Where(NamedTuple):
    """A condition on the low 32 bits of one argument, after `mask`."""

    argument: int
    values: tuple[int, ...]
    mask: int = 0xFFFFFFFF
    holds: bool = True  # False: none of the values


class Rule(NamedTuple):
    """What becomes of a call when all conditions hold: an error number, or ASK."""

    call: str
    answer: int
    where: tuple[Where, ...] = ()


def _refuse(answer: int, *calls: str) -> list[Rule]:
    return [Rule(call, answer) for call in calls]


def rules(own_spaces: bool, supervised: bool, truncate: bool) -> list[Rule]:
    """The rules of a command with or without namespaces of its own.

    `supervised`: a warden answers; `truncate`: Landlock is too old to know about `truncate`.
    """
    found = _everywhere(supervised)
    families = (_UNIX, *_INTERNET, _NETLINK) if own_spaces else (_UNIX,)
    found.append(Rule("socket", errno.EACCES, (Where(0, families, holds=False),)))
    if not own_spaces:
        found += _without_namespaces(supervised)
        found += _refuse(errno.EPERM, "truncate") if truncate else []
    return found


def _everywhere(supervised: bool) -> list[Rule]:
    datagram = (Where(0, (_UNIX,)), Where(1, (_DATAGRAM,), 0xF))
    found = [
        # A new mount would be a place outside every limit; keys belong to the user's whole login.
        *_refuse(
            errno.EPERM, "mount", "umount2", "pivot_root", "chroot", "open_tree", "move_mount",
            "fsopen", "fsmount", "fsconfig", "fspick", "mount_setattr", "open_tree_attr", "setns",
            "unshare", "keyctl", "add_key", "request_key", "bpf", "userfaultfd",
            "open_by_handle_at", "io_uring_setup", "io_uring_enter", "io_uring_register",
        ),
        # Its flags lie in memory, where a filter cannot see them: the C library takes clone.
        *_refuse(errno.ENOSYS, "clone3", "memfd_secret"),
        Rule("clone", errno.EPERM, (Where(0, (0,), _NEW_NAMESPACES, holds=False),)),
        Rule("ioctl", errno.EPERM, (Where(1, _TERMINAL_INPUT),)),
        # The warden could no longer look at what the command has open.
        Rule("prctl", errno.EPERM, (Where(0, (_SET_DUMPABLE,)),)),
        Rule("seccomp", errno.EPERM, (Where(1, (_NEW_LISTENER,), _NEW_LISTENER),)),
        # A datagram names its receiver in memory, without a connect that could be watched.
        Rule("socket", errno.EACCES, datagram),
        Rule("socketpair", errno.EACCES, datagram),
    ]  # fmt: skip
    return [*found, Rule("connect", ASK)] if supervised else found


def _without_namespaces(supervised: bool) -> list[Rule]:
    return [
        *_other_processes(supervised),
        *_refuse(
            errno.EPERM, "shmget", "shmat", "shmctl", "semget", "semop", "semctl", "semtimedop",
            "msgget", "msgsnd", "msgrcv", "msgctl", "mq_open", "mq_unlink",
        ),
        *_refuse(errno.EPERM, "chown", "fchown", "lchown", "fchownat"),
        *_refuse(errno.EPERM, "utime", "utimes", "futimesat"),
        # What copies a file with its attributes takes this for a file system without any.
        *_refuse(
            errno.EOPNOTSUPP, "setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr",
            "fremovexattr", "setxattrat", "removexattrat", "file_setattr",
        ),
        Rule("ioctl", errno.EPERM, (Where(1, _FILE_FLAGS),)),
        *_refuse(
            ASK if supervised else errno.EPERM, "chmod", "fchmod", "fchmodat", "fchmodat2",
            "utimensat",
        ),
    ]  # fmt: skip


def _other_processes(supervised: bool) -> list[Rule]:
    another, everyone = (Where(0, (0,), holds=False),), (Where(0, (0xFFFFFFFF,)),)
    found = [
        *_refuse(
            errno.EPERM, "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise",
            "process_mrelease", "pidfd_send_signal", "pidfd_getfd", "perf_event_open", "kcmp",
            "migrate_pages", "move_pages", "ioprio_set",
        ),
        Rule("setpriority", errno.EPERM, (Where(0, (_USER,)),)),
        Rule("setpriority", errno.EPERM, (Where(1, (0,), holds=False),)),
        Rule("kill", errno.EPERM, everyone),
    ]  # fmt: skip
    if not supervised:
        return [*found, Rule("prlimit64", errno.EPERM, another)]
    by_number = ("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "prlimit64")
    scheduling = ("sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr")
    return [*found, *(Rule(call, ASK, another) for call in (*by_number, *scheduling))]
