"""Own user, mount, process, network and IPC namespaces (Linux): the strongest isolation without
privileges.
"""

from __future__ import annotations

import os
import socket
import struct

from mpslint.verify.sandbox import syscalls as sc

_DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "kfd", "dri", "dxg")
_OF_THE_MACHINE = ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "driver")
_SPACES = sc.CLONE_NEWNS | sc.CLONE_NEWPID | sc.CLONE_NEWNET | sc.CLONE_NEWIPC


def enter() -> None:
    """Leave the machine's namespaces; children are born as the first process of a new process
    namespace.

    Raises OSError where the system forbids it (many containers do).
    """
    uid, gid = os.getuid(), os.getgid()
    try:
        sc.unshare(sc.CLONE_NEWUSER | _SPACES)
    except OSError:
        if uid != 0:
            raise
        sc.unshare(_SPACES)
        return
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{uid} {uid} 1")
    _write("/proc/self/gid_map", f"{gid} {gid} 1")


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def loopback_up() -> None:
    """Programs that talk to themselves over 127.0.0.1 keep working; nothing else is reachable."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        import fcntl

        request = struct.pack("16sH14x", b"lo", 0x1 | 0x40)
        fcntl.ioctl(sock, 0x8914, request)


def build_file_system(
    writable: list[str],
    hidden: list[str],
    keep: list[str],
    scratch: dict[str, str],
    shared_memory: int,
) -> None:
    """Everything read-only, the hidden folders empty but for the kept paths, the writable ones as
    they were.

    `scratch` maps a folder of the machine, such as /tmp, to the private folder that stands in for
    it.
    """
    sc.mount(None, "/", None, sc.MS_REC | sc.MS_PRIVATE)
    handles = {path: os.open(path, os.O_PATH | os.O_CLOEXEC) for path in _existing(keep + writable)}
    stand_ins = {path: os.open(own, os.O_PATH | os.O_CLOEXEC) for path, own in scratch.items()}
    devices = {name: _device_handle(name) for name in _device_names()}
    for path in _existing(hidden):
        sc.mount("tmpfs", path, "tmpfs", sc.MS_NOSUID | sc.MS_NODEV, "size=16m,mode=755")
    for path, handle in stand_ins.items():
        _bind(handle, path)
    _own_devices(devices, shared_memory)
    for path in sorted(handles, key=len):
        _bind(handles[path], path)
    sc.mount_setattr("/", set_=sc.MOUNT_ATTR_RDONLY)
    for path in [*_existing(writable), *_existing(list(scratch)), "/dev/shm"]:
        sc.mount_setattr(path, clear=sc.MOUNT_ATTR_RDONLY, recursive=False)


def own_process_list(most: int) -> None:
    """A /proc of this process namespace only, with a ceiling on processes and threads.

    Call it in the namespace's first process. Not even root can pass the ceiling, which is per
    namespace since Linux 6.14. What acts on the machine is read-only afterwards, since a process
    that is root outside could write it; a process's own files are not, since NVIDIA's driver
    writes to them.
    """
    sc.unshare(sc.CLONE_NEWNS)  # the warden keeps the /proc that shows everything
    sc.mount("proc", "/proc", "proc", sc.MS_NOSUID | sc.MS_NODEV | sc.MS_NOEXEC)
    if _kernel() >= (6, 14):
        _write("/proc/sys/kernel/pid_max", str(max(most, 400)))
    for path in _existing([f"/proc/{name}" for name in _OF_THE_MACHINE]):
        sc.mount(path, path, None, sc.MS_BIND)
        sc.mount_setattr(path, set_=sc.MOUNT_ATTR_RDONLY)


def _kernel() -> tuple[int, ...]:
    return tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2])


def _existing(paths: list[str]) -> list[str]:
    return [path for path in dict.fromkeys(paths) if os.path.exists(path)]


def _bind(handle: int, target: str) -> None:
    source = f"/proc/self/fd/{handle}"
    if not os.path.exists(target):
        if os.path.isdir(source):
            os.makedirs(target, exist_ok=True)  # a run beside this one may be as far
        else:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            open(target, "wb").close()
    sc.mount(source, target, None, sc.MS_BIND | sc.MS_REC)


def _device_names() -> list[str]:
    names = [name for name in _DEVICES if os.path.exists(f"/dev/{name}")]
    return names + sorted(name for name in os.listdir("/dev") if name.startswith("nvidia"))


def _device_handle(name: str) -> int:
    return os.open(f"/dev/{name}", os.O_PATH | os.O_CLOEXEC)


def _own_devices(devices: dict[str, int], shared_memory: int) -> None:
    """Disks and other raw devices must not be reachable, whoever runs this."""
    sc.mount("tmpfs", "/dev", "tmpfs", sc.MS_NOSUID, "size=1m,mode=755")
    for name, handle in devices.items():
        _bind(handle, f"/dev/{name}")
    os.mkdir("/dev/shm")
    sc.mount(
        "tmpfs",
        "/dev/shm",
        "tmpfs",
        sc.MS_NOSUID | sc.MS_NODEV,
        f"size={shared_memory},nr_inodes=65536",
    )
    for name, target in (("fd", "fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        os.symlink(f"/proc/self/{target}", f"/dev/{name}")
