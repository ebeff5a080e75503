"""Numbers of the Linux system calls that the sandbox refuses or watches, by processor.

Sources: the kernel's arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping

LAST = 471
"""The newest number that was judged: what came after it is refused as unknown to the kernel."""

# One table for all processors since Linux 5.1.
_COMMON = {
    "pidfd_send_signal": 424, "io_uring_setup": 425, "io_uring_enter": 426,
    "io_uring_register": 427, "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431,
    "fsmount": 432, "fspick": 433, "pidfd_open": 434, "clone3": 435, "pidfd_getfd": 438,
    "process_madvise": 440, "mount_setattr": 442, "memfd_secret": 447, "process_mrelease": 448,
    "fchmodat2": 452, "setxattrat": 463, "removexattrat": 466, "open_tree_attr": 467,
    "file_setattr": 469,
}  # fmt: skip
_X86_64 = {
    "ioctl": 16, "shmget": 29, "shmat": 30, "shmctl": 31, "socket": 41, "connect": 42,
    "socketpair": 53, "clone": 56, "kill": 62, "semget": 64, "semop": 65, "semctl": 66,
    "msgget": 68, "msgsnd": 69, "msgrcv": 70, "msgctl": 71, "truncate": 76, "chmod": 90,
    "fchmod": 91, "chown": 92, "fchown": 93, "lchown": 94, "ptrace": 101, "utime": 132,
    "setpriority": 141, "sched_setparam": 142, "sched_setscheduler": 144, "pivot_root": 155,
    "prctl": 157, "chroot": 161, "mount": 165, "umount2": 166, "setxattr": 188, "lsetxattr": 189,
    "fsetxattr": 190, "removexattr": 197, "lremovexattr": 198, "fremovexattr": 199, "tkill": 200,
    "sched_setaffinity": 203, "semtimedop": 220, "rt_sigqueueinfo": 129, "tgkill": 234,
    "utimes": 235, "mq_open": 240, "mq_unlink": 241, "add_key": 248, "request_key": 249,
    "keyctl": 250, "ioprio_set": 251, "migrate_pages": 256, "fchownat": 260, "futimesat": 261,
    "fchmodat": 268, "unshare": 272, "move_pages": 279, "utimensat": 280, "rt_tgsigqueueinfo": 297,
    "perf_event_open": 298, "prlimit64": 302, "open_by_handle_at": 304, "setns": 308,
    "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312, "sched_setattr": 314,
    "seccomp": 317, "bpf": 321, "userfaultfd": 323,
}  # fmt: skip
_GENERIC = {
    "setxattr": 5, "lsetxattr": 6, "fsetxattr": 7, "removexattr": 14, "lremovexattr": 15,
    "fremovexattr": 16, "ioctl": 29, "ioprio_set": 30, "umount2": 39, "mount": 40,
    "pivot_root": 41, "truncate": 45, "chroot": 51, "fchmod": 52, "fchmodat": 53, "fchownat": 54,
    "fchown": 55, "utimensat": 88, "unshare": 97, "ptrace": 117, "sched_setparam": 118,
    "sched_setscheduler": 119, "sched_setaffinity": 122, "kill": 129, "tkill": 130, "tgkill": 131,
    "rt_sigqueueinfo": 138, "setpriority": 140, "prctl": 167, "mq_open": 180, "mq_unlink": 181,
    "msgget": 186, "msgctl": 187, "msgrcv": 188, "msgsnd": 189, "semget": 190, "semctl": 191,
    "semtimedop": 192, "semop": 193, "shmget": 194, "shmctl": 195, "shmat": 196, "socket": 198,
    "socketpair": 199, "connect": 203, "add_key": 217, "request_key": 218, "keyctl": 219,
    "clone": 220, "migrate_pages": 238, "move_pages": 239, "rt_tgsigqueueinfo": 240,
    "perf_event_open": 241, "prlimit64": 261, "open_by_handle_at": 265, "setns": 268,
    "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272, "sched_setattr": 274,
    "seccomp": 277, "bpf": 280, "userfaultfd": 282,
}  # fmt: skip

# AUDIT_ARCH_* of a machine, and its table.
_MACHINES: dict[str, tuple[int, Mapping[str, int]]] = {
    "x86_64": (0xC000003E, {**_X86_64, **_COMMON}),
    "aarch64": (0xC00000B7, {**_GENERIC, **_COMMON}),
    "riscv64": (0xC00000F3, {**_GENERIC, **_COMMON}),
}


def table(machine: str = "") -> tuple[int, Mapping[str, int]]:
    """The audit number of a processor and its system calls by name; OSError for an unknown one."""
    known = _MACHINES.get(machine or platform.machine())
    if known is None:
        raise OSError(f"no seccomp filter for {platform.machine()}")
    return known
