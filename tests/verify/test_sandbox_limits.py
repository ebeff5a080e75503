"""Memory and disk that no process and no folder shows count, too."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mpslint.verify.sandbox import calls, policy, seccomp, usage, watch

from .conftest import both_ways, linux

pytestmark = linux

FILL = "for _ in range(60): os.write(f, bytes(8 << 20))\n"
MEMORY = {
    "memfd": f"f = os.memfd_create('x')\n{FILL}",
    "deleted file in /dev/shm": (
        "n = f'/dev/shm/mpslint-{os.getpid()}'; f = os.open(n, os.O_RDWR | os.O_CREAT)\n"
        f"os.unlink(n)\n{FILL}"
    ),
    "shared mapping": (
        "import mmap\nm = mmap.mmap(-1, 480 << 20)\nfor i in range(0, 480 << 20, 4096): m[i] = 1\n"
    ),
    "mapped memfd that is closed": (
        "import mmap\nf = os.memfd_create('x'); os.ftruncate(f, 480 << 20)\n"
        "m = mmap.mmap(f, 480 << 20); os.close(f)\n"
        "for i in range(0, 480 << 20, 4096): m[i] = 1\n"
    ),
}
DISK = {
    "deleted files that are still open": (
        "for i in range(10):\n    f = os.open('f', os.O_RDWR | os.O_CREAT)\n"
        "    os.write(f, bytes(10 << 20)); os.unlink('f')\n"
    ),
    "deleted files that are only mapped": (
        "kept = []\nfor i in range(10):\n"
        "    f = os.open('f', os.O_RDWR | os.O_CREAT); os.write(f, bytes(10 << 20))\n"
        "    kept.append(mmap.mmap(f, 10 << 20)); os.close(f); os.unlink('f')\n"
    ),
    "many empty files": "for i in range(5000): open(f'f{i}', 'w').close()\n",
}


@both_ways
@pytest.mark.parametrize("how", MEMORY)
def test_memory_that_is_no_processs_own_ends_the_run(
    sandbox: Any, namespaces: bool, how: str
) -> None:
    code = f"import os, time\n{MEMORY[how]}time.sleep(99)"
    run = sandbox.run(code, namespaces, memory=200 << 20, disk=1 << 30, timeout=120.0)
    assert run.stopped == "memory" or "No space left" in run.stderr, run.stderr


@both_ways
def test_a_mapping_that_workers_share_counts_once(sandbox: Any, namespaces: bool) -> None:
    code = (
        "import mmap, os, time\nm = mmap.mmap(-1, 100 << 20)\n"
        "for i in range(0, 100 << 20, 4096): m[i] = 1\n"
        "for _ in range(4):\n    if os.fork() == 0:\n"
        "        print(sum(m[i] for i in range(0, 100 << 20, 4096)), flush=True)\n"
        "        time.sleep(1.5); os._exit(0)\n"
        "for _ in range(4): os.wait()"
    )
    run = sandbox.run(code, namespaces, memory=300 << 20, timeout=120.0)
    assert (run.code, run.stopped) == (0, None), run.stderr


@both_ways
@pytest.mark.parametrize("how", DISK)
def test_a_disk_that_is_filled_unseen_ends_the_run(
    sandbox: Any, namespaces: bool, how: str
) -> None:
    code = f"import mmap, os, time\n{DISK[how]}time.sleep(99)"
    assert sandbox.run(code, namespaces, timeout=120.0).stopped == "disk"


def test_what_a_process_has_open_is_counted_once_for_all_who_have_it() -> None:
    file = os.memfd_create("x")
    os.write(file, bytes(1 << 20))
    again = os.dup(file)
    task = watch.Task(os.getpid(), 1, 1, 0)
    opened = usage.open_files([task, task], [])
    size = {key: value for key, value in opened.memory.items() if key[1] == os.fstat(file).st_ino}
    os.close(file)
    os.close(again)
    assert list(size.values()) == [1 << 20]


def test_a_process_that_has_ended_meanwhile_uses_nothing() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    task = watch.Task(ended.pid, os.getpid(), 1, 1 << 30)
    assert usage.memory([task], usage.NOTHING_OPEN) == 0


class TestTables:
    HEADERS = (
        (
            "x86_64",
            ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"),
        ),
        ("aarch64", ("/usr/include/asm-generic/unistd.h",)),
    )

    @pytest.mark.parametrize(("machine", "places"), HEADERS)
    def test_the_numbers_are_those_of_the_kernels_headers(
        self, machine: str, places: tuple[str, ...]
    ) -> None:
        header = next((Path(place) for place in places if os.path.exists(place)), None)
        if header is None:
            pytest.skip("no headers of the kernel here")
        found = re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", header.read_text())
        real = {name: int(number) for name, number in found}
        ours = calls.table(machine)[1]
        newer = {name for name in ours if name not in real}
        assert {name: real[name] for name in ours if name in real} == {
            name: number for name, number in ours.items() if name not in newer
        }
        assert len(newer) < 10

    def test_every_rule_names_a_call_that_is_known(self) -> None:
        known = set(calls.table("x86_64")[1])
        for own in (True, False):
            for supervised in (True, False):
                rules = policy.rules(own, supervised, truncate=True)
                assert {rule.call for rule in rules} <= known

    @pytest.mark.parametrize("machine", ["x86_64", "aarch64", "riscv64"])
    def test_the_longest_program_fits_into_the_kernels_limit(self, machine: str) -> None:
        rules = policy.rules(False, True, truncate=True)
        assert len(seccomp.program(rules, machine)) // 8 < 4096


def test_where_nobody_can_answer_everything_that_would_be_asked_is_refused(tmp_path: Path) -> None:
    """A filter without a warden, in a process of its own."""
    code = (
        "import errno, os, socket\n"
        "from mpslint.verify.sandbox import policy, seccomp\n"
        "open('mine', 'w').close()\n"
        "seccomp.install(policy.rules(False, False, True))\n"
        "for what in (lambda: os.kill(-1, 0), lambda: os.chmod('mine', 0o700),\n"
        "             lambda: os.utime('mine'), lambda: socket.socket(socket.AF_INET)):\n"
        "    try: print(what())\n"
        "    except OSError as error: print(errno.errorcode[error.errno])\n"
        "os.kill(os.getpid(), 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.stdout.split() == ["EPERM", "EPERM", "EPERM", "EACCES"], done.stderr


def test_who_is_started_between_two_looks_is_found_by_the_second(tmp_path: Path) -> None:
    """Also below a process that was not there before; what others start is left out."""
    tree = watch.Tree(os.getpid())
    before = {task.pid for task in tree.now()}
    shell = subprocess.Popen(
        ["/bin/sh", "-c", "sleep 60 & echo $!; wait"], stdout=subprocess.PIPE, text=True
    )
    assert shell.stdout is not None
    grandchild = int(shell.stdout.readline())
    try:
        assert {task.pid for task in tree.now()} - before == {shell.pid, grandchild}
        assert watch.Tree(grandchild).now() == []
    finally:
        os.kill(grandchild, 9)
        shell.kill()
        shell.wait()
        shell.stdout.close()
