"""What a command reaches beside files: processes, sockets, modes and times, shared memory."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .conftest import both_ways, contained, linux

pytestmark = linux

# Each line of a command's answer is what one try gave: a value or an error's name.
TRY = """
import errno, os, socket, sys
def attempt(what):
    try: print(what())
    except OSError as error: print(errno.errorcode[error.errno])
"""


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """Another process of the same user."""
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def daemon(sandbox: Any) -> Iterator[Path]:
    """A socket, outside of the copy, on which another program listens."""
    folder = os.open(sandbox.outside, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(f"/proc/self/fd/{folder}/daemon")  # the path itself may be too long for one
        other.listen()
        yield sandbox.outside / "daemon"
    os.close(folder)


class TestProcesses:
    @both_ways
    def test_a_signal_to_everybody_reaches_nobody_else(
        self, sandbox: Any, namespaces: bool, bystander: subprocess.Popen[bytes]
    ) -> None:
        # Signal 0 asks whether a signal could be sent, and harms nobody where this test fails.
        run = sandbox.run(TRY + "attempt(lambda: os.kill(-1, 0))", namespaces)
        if contained(run, "signals"):
            assert run.stdout.strip() in ("EPERM", "ESRCH")

    @both_ways
    @pytest.mark.parametrize("way", ["kill(pid, 9)", "killpg(os.getpgid(pid), 0)"])
    def test_another_process_of_the_user_cannot_be_ended(
        self, sandbox: Any, namespaces: bool, bystander: subprocess.Popen[bytes], way: str
    ) -> None:
        code = TRY + f"pid = {bystander.pid}\nattempt(lambda: os.{way})"
        run = sandbox.run(code, namespaces)
        if contained(run, "signals"):
            assert run.stdout.strip() in ("EPERM", "ESRCH")
            assert bystander.poll() is None

    @both_ways
    def test_a_handle_on_a_process_cannot_be_used_to_signal_it(
        self, sandbox: Any, namespaces: bool, bystander: subprocess.Popen[bytes]
    ) -> None:
        code = (
            f"{TRY}\nimport signal\nattempt(lambda: signal.pidfd_send_signal("
            f"os.pidfd_open({bystander.pid}), 9))"
        )
        run = sandbox.run(code, namespaces)
        if contained(run, "signals"):
            assert run.stdout.strip() in ("EPERM", "ESRCH")
            assert bystander.poll() is None

    @both_ways
    def test_its_own_processes_can_be_ended(self, sandbox: Any, namespaces: bool) -> None:
        code = (
            "import os, signal, subprocess, sys\n"
            "child = [sys.executable, '-I', '-S', '-c', 'import time; time.sleep(99)']\n"
            "one = subprocess.Popen(child); one.terminate()\n"
            "two = subprocess.Popen(child, start_new_session=True); os.killpg(two.pid, 9)\n"
            "signal.signal(signal.SIGUSR1, lambda *_: print('heard', flush=True))\n"
            "signal.raise_signal(signal.SIGUSR1); print(one.wait(), two.wait())"
        )
        run = sandbox.run(code, namespaces)
        assert run.stdout.split() == ["heard", "-15", "-9"], run.stderr

    @both_ways
    def test_the_limits_and_priorities_of_others_stay(
        self, sandbox: Any, namespaces: bool, bystander: subprocess.Popen[bytes]
    ) -> None:
        code = (
            f"{TRY}\nimport resource\npid = {bystander.pid}\n"
            "attempt(lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE, (7, 7)))\n"
            "attempt(lambda: os.setpriority(os.PRIO_PROCESS, pid, 19))\n"
            "attempt(lambda: os.setpriority(os.PRIO_USER, 0, 19))"
        )
        before = os.getpriority(os.PRIO_PROCESS, bystander.pid)
        assert sandbox.run(code, namespaces).code == 0
        assert os.getpriority(os.PRIO_PROCESS, bystander.pid) == before
        assert (
            "Max open files            7 " not in Path(f"/proc/{bystander.pid}/limits").read_text()
        )


class TestSockets:
    @both_ways
    def test_a_socket_of_another_program_is_out_of_reach(
        self, sandbox: Any, namespaces: bool, daemon: Path
    ) -> None:
        code = (
            f"{TRY}\nfolder = os.open({str(daemon.parent)!r}, os.O_RDONLY)\n"
            "sock = socket.socket(socket.AF_UNIX)\n"
            "attempt(lambda: sock.connect(f'/proc/self/fd/{folder}/daemon'))"
        )
        run = sandbox.run(code, namespaces)
        if contained(run, "sockets"):
            assert run.stdout.strip() in ("EPERM", "EACCES", "ENOENT")

    @both_ways
    def test_a_link_in_the_copy_to_such_a_socket_is_no_way_around(
        self, sandbox: Any, namespaces: bool, daemon: Path
    ) -> None:
        code = (
            f"{TRY}\nos.symlink({str(daemon)!r}, 'mine')\n"
            "attempt(lambda: socket.socket(socket.AF_UNIX).connect('mine'))"
        )
        run = sandbox.run(code, namespaces)
        if contained(run, "sockets"):
            assert run.stdout.strip() in ("EPERM", "EACCES", "ENOENT")

    @both_ways
    def test_a_socket_without_a_path_is_out_of_reach(self, sandbox: Any, namespaces: bool) -> None:
        name = f"\0mpslint-test-{os.getpid()}-{namespaces}"
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(name)
            other.listen()
            run = sandbox.run(
                f"{TRY}\nattempt(lambda: socket.socket(socket.AF_UNIX).connect({name!r}))",
                namespaces,
            )
        if contained(run, "sockets"):
            assert run.stdout.strip() in ("EPERM", "EACCES", "ECONNREFUSED")

    @both_ways
    def test_a_datagram_needs_no_connection_and_is_refused(
        self, sandbox: Any, namespaces: bool
    ) -> None:
        code = (
            f"{TRY}\nattempt(lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))\n"
            "attempt(lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))"
        )
        run = sandbox.run(code, namespaces)
        if contained(run, "sockets"):
            assert run.stdout.split() == ["EACCES", "EACCES"]

    @both_ways
    def test_its_own_processes_talk_over_sockets_in_the_copy(
        self, sandbox: Any, namespaces: bool
    ) -> None:
        code = (
            "import os, socket, time\n"
            "server = socket.socket(socket.AF_UNIX); server.bind('here'); server.listen(0)\n"
            "if os.fork() == 0:\n"
            "    clients = [socket.socket(socket.AF_UNIX) for _ in range(4)]\n"
            "    for client in clients: client.connect('here'); client.sendall(b'hello')\n"
            "    os._exit(0)\n"
            "time.sleep(0.5)\n"  # the queue is full: the later ones have to wait
            "print(*[server.accept()[0].recv(9).decode() for _ in range(4)])"
        )
        run = sandbox.run(code, namespaces)
        assert run.stdout.split() == ["hello"] * 4, run.stderr

    @both_ways
    def test_the_line_of_a_virtual_machine_to_its_host_is_cut(
        self, sandbox: Any, namespaces: bool
    ) -> None:
        run = sandbox.run(f"{TRY}\nattempt(lambda: socket.socket(socket.AF_VSOCK))", namespaces)
        if contained(run, "network"):
            assert run.stdout.strip() == "EACCES"

    def test_without_namespaces_no_socket_leads_to_the_kernel(self, sandbox: Any) -> None:
        code = f"{TRY}\nattempt(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW))"
        run = sandbox.run(code, False)
        if contained(run, "network"):
            assert run.stdout.strip() == "EACCES"


class TestMetadata:
    CHANGES = (
        "os.chmod(path, 0o777)",
        "os.utime(path, (0, 0))",
        "os.chown(path, -1, os.getgid())",
        "os.setxattr(path, 'user.mpslint', b'1')",
        "os.fchmod(os.open(path, os.O_RDONLY), 0o777)",
        "os.utime(os.open(path, os.O_RDONLY), (0, 0))",
        "os.chmod(os.path.basename(path), 0o777, dir_fd=os.open(os.path.dirname(path), 0))",
    )

    @both_ways
    @pytest.mark.parametrize("change", CHANGES)
    def test_mode_times_and_attributes_elsewhere_stay(
        self, sandbox: Any, namespaces: bool, change: str
    ) -> None:
        thesis = sandbox.outside / "thesis.txt"
        thesis.write_text("years of work")
        before = thesis.stat()
        code = f"{TRY}\npath = {str(thesis)!r}\nattempt(lambda: {change})"
        run = sandbox.run(code, namespaces)
        if contained(run, "metadata"):
            after = thesis.stat()
            assert run.stdout.strip() in ("EPERM", "EACCES", "EROFS", "EOPNOTSUPP", "ENOTSUP")
            assert (after.st_mode, after.st_mtime) == (before.st_mode, before.st_mtime)
            assert os.listxattr(thesis) == []

    @both_ways
    def test_a_link_in_the_copy_is_no_way_around(self, sandbox: Any, namespaces: bool) -> None:
        thesis = sandbox.outside / "thesis.txt"
        thesis.write_text("years of work")
        before = thesis.stat().st_mode
        code = f"{TRY}\nos.symlink({str(thesis)!r}, 'l')\nattempt(lambda: os.chmod('l', 0o777))"
        run = sandbox.run(code, namespaces)
        if contained(run, "metadata"):
            assert thesis.stat().st_mode == before

    @both_ways
    def test_the_copys_own_files_are_copied_with_mode_and_times(
        self, sandbox: Any, namespaces: bool
    ) -> None:
        code = (
            "import os, shutil\nopen('a', 'w').close(); os.chmod('a', 0o750)\n"
            "os.utime('a', (5, 6)); shutil.copy2('a', 'b'); found = os.stat('b')\n"
            "file = os.open('b', os.O_RDONLY); os.fchmod(file, 0o604); os.utime(file)\n"
            "print(oct(found.st_mode & 0o777), found.st_mtime, oct(os.stat('b').st_mode & 0o777),"
            " os.stat('b').st_mtime > 6)\nos.symlink('a', 'c')\n"
            "os.utime('c', (7, 7), follow_symlinks=False); print(os.stat('a').st_mtime)"
        )
        run = sandbox.run(code, namespaces)
        assert run.stdout.split() == ["0o750", "6.0", "0o604", "True", "6.0"], run.stderr


class TestKernel:
    @both_ways
    def test_no_new_namespace_or_mount_can_be_made(self, sandbox: Any, namespaces: bool) -> None:
        code = (
            "import ctypes; c = ctypes.CDLL(None, use_errno=True)\n"
            "for call in (lambda: c.unshare(0x10000000), lambda: c.mount(None, b'/', None, 4096, "
            "None), lambda: c.prctl(4, 0, 0, 0, 0)):\n    print(call(), ctypes.get_errno())"
        )
        run = sandbox.run(code, namespaces)
        assert run.stdout.split() == ["-1", "1"] * 3

    @both_ways
    @pytest.mark.skipif(os.uname().machine != "x86_64", reason="the second table of x86-64")
    def test_the_second_table_of_calls_is_no_way_around(
        self, sandbox: Any, namespaces: bool
    ) -> None:
        code = (
            "import ctypes, errno; c = ctypes.CDLL(None, use_errno=True)\n"
            "print(c.syscall(0x40000000 + 41, 40, 1, 0), errno.errorcode[ctypes.get_errno()])"
        )
        assert sandbox.run(code, namespaces).stdout.split() == ["-1", "ENOSYS"]


def test_shared_memory_is_its_own_or_the_report_says_so(sandbox: Any) -> None:
    name = f"mpslint-canary-{os.getpid()}"
    run = sandbox.run(f"open('/dev/shm/{name}', 'w').write('1')")
    shared = Path("/dev/shm", name)
    found = shared.exists()
    shared.unlink(missing_ok=True)
    if contained(run, "shared"):
        assert run.code == 0
        assert not found


def test_a_raw_disk_cannot_be_read_without_namespaces_either(sandbox: Any) -> None:
    code = "import os\nfor name in ('/dev', '/dev/pts', '/dev/input'):\n    print(os.listdir(name))"
    run = sandbox.run(code, False)
    if contained(run, "home"):
        assert run.stdout == ""
        assert "Permission denied" in run.stderr


def test_a_run_that_is_cancelled_leaves_no_process(sandbox: Any) -> None:
    """The warden outlives its parent just long enough to end everything."""
    mark = f"mpslint-orphan-{os.getpid()}"
    child = os.fork()
    if child == 0:
        sandbox.run(f"import time; mark = {mark!r}; print(1); time.sleep(300)", timeout=300.0)
        os._exit(0)
    deadline = time.monotonic() + 60
    while not _alive(mark) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while _alive(mark) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _alive(mark)


def _alive(mark: str) -> bool:
    listing = subprocess.run(["ps", "-axo", "args"], capture_output=True, text=True).stdout
    return any(mark in line and "ps -axo" not in line for line in listing.splitlines())
