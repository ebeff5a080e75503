"""Canaries: small, bounded tries to do harm. Each is contained, or the report says it is not."""

from __future__ import annotations

import os
import subprocess
import time
from typing import Any

import pytest

from mpslint.verify.sandbox.process import SHARED_SCRATCH

from .conftest import both_ways, contained, linux


@both_ways
def test_the_network_is_out_of_reach(sandbox: Any, namespaces: bool) -> None:
    code = "import socket; socket.create_connection(('192.0.2.1', 80), 2)"
    run = sandbox.run(code, namespaces)
    if contained(run, "network"):
        assert run.code == 1
        assert "unreachable" in run.stderr or "Permission denied" in run.stderr


@both_ways
def test_no_file_can_be_written_outside_the_copy(sandbox: Any, namespaces: bool) -> None:
    target = sandbox.outside / "canary"
    run = sandbox.run(f"open({str(target)!r}, 'w').write('harm')", namespaces)
    if contained(run, "writes"):
        assert run.code == 1
        assert not target.exists()


@both_ways
@linux
@pytest.mark.parametrize("folder", SHARED_SCRATCH)
def test_a_private_stand_in_for_tmp_is_not_taken_for_the_machines(
    sandbox: Any, namespaces: bool, folder: str
) -> None:
    name = f"mpslint-canary-{os.getpid()}"
    code = f"open('{folder}/{name}', 'w').write('scratch')"
    run = sandbox.run(code, namespaces, guarded=[folder])
    if contained(run, "writes"):
        assert not os.path.exists(f"{folder}/{name}")
        assert os.path.exists(sandbox.base / "tmp" / name) == (run.code == 0)


@both_ways
def test_a_file_of_the_user_cannot_be_deleted(sandbox: Any, namespaces: bool) -> None:
    precious = sandbox.outside / "thesis.txt"
    precious.write_text("years of work")
    run = sandbox.run(f"import os; os.remove({str(precious)!r})", namespaces)
    if contained(run, "writes"):
        assert precious.read_text() == "years of work"


@both_ways
def test_a_token_in_the_home_folder_cannot_be_read(sandbox: Any, namespaces: bool) -> None:
    token = sandbox.user / ".netrc"
    token.write_text("password hunter2")
    run = sandbox.run(f"print(open({str(token)!r}).read())", namespaces)
    if contained(run, "home"):
        assert "hunter2" not in run.stdout
        assert run.code == 1


@both_ways
def test_the_copy_home_and_tmp_can_be_written(sandbox: Any, namespaces: bool) -> None:
    code = (
        "import os, tempfile; open('here', 'w').write('1');"
        "open(os.path.expanduser('~/there'), 'w').write('2'); print(tempfile.mkstemp()[0] > 0)"
    )
    run = sandbox.run(code, namespaces)
    assert (run.code, run.stdout.strip()) == (0, "True")
    assert (sandbox.project / "here").read_text() == "1"


@both_ways
@linux
def test_an_allocation_of_30_gb_is_refused(sandbox: Any, namespaces: bool) -> None:
    run = sandbox.run("x = bytearray(30 << 30)", namespaces)
    assert run.code == 1
    assert "MemoryError" in run.stderr


@both_ways
def test_memory_that_is_really_used_ends_the_run(sandbox: Any, namespaces: bool) -> None:
    code = "import time\nx = [bytearray(b'1') * (8 << 20) for _ in range(60)]\ntime.sleep(99)"
    run = sandbox.run(code, namespaces, memory=200 << 20, timeout=120.0)
    assert run.stopped == "memory"
    assert run.peak_memory > 200 << 20


@both_ways
def test_memory_of_children_counts_too(sandbox: Any, namespaces: bool) -> None:
    code = (
        "import os, time\nfor _ in range(3):\n    if os.fork() == 0:\n"
        "        x = bytearray(b'1') * (90 << 20)\n        break\ntime.sleep(99)"
    )
    assert sandbox.run(code, namespaces, memory=200 << 20, timeout=120.0).stopped == "memory"


@both_ways
@linux
def test_a_fork_bomb_is_stopped(sandbox: Any, namespaces: bool) -> None:
    code = (
        "import os, time\nmade = 0\nfor _ in range(900):\n    try:\n        pid = os.fork()\n"
        "    except OSError:\n        print('refused after', made, flush=True); break\n"
        "    if pid == 0: time.sleep(90); os._exit(0)\n    made += 1\n"
        "else: print('unbounded', flush=True); time.sleep(60)\n"
    )
    run = sandbox.run(code, namespaces, timeout=120.0)
    assert run.stopped == "processes" or "refused" in run.stdout
    assert run.isolation["nothing_left"]


@both_ways
def test_an_endless_loop_ends_at_the_time_limit(sandbox: Any, namespaces: bool) -> None:
    run = sandbox.run("while True: pass", namespaces, timeout=1.0)
    assert run.stopped == "timeout"
    assert run.code is None


@both_ways
@linux
def test_an_orphaned_grandchild_is_gone_after_the_run(sandbox: Any, namespaces: bool) -> None:
    mark = f"mpslint-canary-{os.getpid()}-{namespaces}"
    child = f"import time; mark = {mark!r}; time.sleep(120)"
    code = (
        "import os, subprocess, sys\n"
        "if os.fork() == 0:\n    os.setsid()\n"
        f"    subprocess.Popen([sys.executable, '-I', '-S', '-c', {child!r}])\n    os._exit(0)\n"
        "os.wait()"
    )
    run = sandbox.run(code, namespaces)
    assert run.code == 0
    assert run.isolation["orphans"]
    assert not alive(mark)


@both_ways
@linux
def test_children_that_ignore_signals_end_at_the_time_limit(sandbox: Any, namespaces: bool) -> None:
    mark = f"mpslint-deaf-{os.getpid()}-{namespaces}"
    child = (
        "import signal, time\nfor n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)\n"
        f"mark = {mark!r}\ntime.sleep(120)"
    )
    code = (
        "import subprocess, sys\n"
        f"p = [subprocess.Popen([sys.executable, '-I', '-S', '-c', {child!r}]) for _ in range(3)]\n"
        "p[0].wait()"
    )
    assert sandbox.run(code, namespaces, timeout=1.5).stopped == "timeout"
    assert not alive(mark)


def alive(mark: str) -> bool:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        listing = subprocess.run(["ps", "-axo", "args"], capture_output=True, text=True).stdout
        if not any(mark in line for line in listing.splitlines()):
            return False
        time.sleep(0.05)
    return True


@both_ways
def test_standard_input_is_at_its_end(sandbox: Any, namespaces: bool) -> None:
    run = sandbox.run("input()", namespaces)
    assert run.code == 1
    assert "EOF when reading a line" in run.stderr


@both_ways
def test_200_mb_of_output_leave_only_their_head_and_tail(sandbox: Any, namespaces: bool) -> None:
    code = (
        "import sys\nsys.stdout.write('first\\n')\n"
        "for _ in range(200): sys.stdout.write('x' * 1_000_000)\nsys.stdout.write('\\nlast\\n')"
    )
    run = sandbox.run(code, namespaces)
    assert run.code == 0
    assert run.stdout.startswith("first\n")
    assert run.stdout.endswith("last\n")
    assert len(run.stdout) < 3 << 20
    assert run.cut > 190_000_000


@both_ways
def test_a_disk_that_is_being_filled_ends_the_run(sandbox: Any, namespaces: bool) -> None:
    code = (
        "import time\nfor i in range(10):\n    open(f'f{i}', 'wb').write(bytes(10 << 20))\n"
        "time.sleep(99)"
    )
    assert sandbox.run(code, namespaces, timeout=120.0).stopped == "disk"


@both_ways
def test_death_by_a_signal_is_told(sandbox: Any, namespaces: bool) -> None:
    assert sandbox.run("import os; os.kill(os.getpid(), 9)", namespaces).code == -9


@both_ways
def test_the_exit_code_is_the_commands_own(sandbox: Any, namespaces: bool) -> None:
    assert sandbox.run("raise SystemExit(7)", namespaces).code == 7


@linux
def test_the_users_signals_cannot_reach_other_processes(sandbox: Any) -> None:
    run = sandbox.run(f"import os; os.kill({os.getpid()}, 0); print('seen')")
    if run.isolation.get("orphans") == "own process namespace":
        assert "seen" not in run.stdout


@linux
def test_no_capability_is_left(sandbox: Any) -> None:
    run = sandbox.run("print(*[l for l in open('/proc/self/status') if l.startswith('Cap')])")
    values = [line.split()[-1] for line in run.stdout.strip().splitlines()]
    assert run.code == 0
    assert set(values) <= {"0000000000000000"}
