"""Another user than root, with and without namespaces: what the report claims is so as well."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mpslint.verify.isolation import describe

from .conftest import both_ways, linux

pytestmark = linux

SOURCE = Path(__file__).parents[2] / "src"
NOBODY = 65534
PYTHONS = [path for path in ("/usr/bin/python3", "/usr/local/bin/python3") if os.path.exists(path)]

# The outer program is the user's mpslint; the inner one is the script that it holds.
RUNS = """
import json, os, sys
from mpslint.verify.sandbox import process
base, namespaces = sys.argv[1], sys.argv[2] == "True"
folders = {{name: os.path.join(base, name) for name in ("project", "home", "tmp")}}
places = process.Places(
    list(folders.values()), [base + "/user"], [base], {{}}, [base + "/outside"], [base + "/user"]
)
command = process.Command(
    [sys.executable, "-c", open(base + "/tries.py").read()], folders["project"],
    {{"PATH": "/usr/bin:/bin"}}, places, process.Limits(60.0, 0, 1 << 30, 256, 1 << 30),
)
ended = process.attempt(command, namespaces=namespaces)
print(json.dumps([ended.broken, ended.stdout, ended.stderr, ended.isolation]))
"""
TRIES = """
import json, os, signal, socket
def network(): socket.create_connection(("192.0.2.1", 9), 1)
def writes(): open({outside!r} + "/new", "w").close()
def metadata(): os.chmod({outside!r} + "/thesis", 0o600)
def signals(): os.kill({process}, 0)
def sockets():
    socket.socket(socket.AF_UNIX).connect("\\0" + {abstract!r})
done = []
for what in (network, writes, metadata, signals, sockets):
    try: what(); done.append(what.__name__)
    except OSError: pass
print(json.dumps(done))
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder of the other user's, where he can reach it."""
    base = Path(tempfile.mkdtemp(prefix="mpslint-user-", dir="/var/tmp"))
    for name in ("project", "home", "tmp", "outside", "user"):
        (base / name).mkdir()
    (base / "outside" / "thesis").write_text("years of work")
    for path in (base, *base.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    yield base
    shutil.rmtree(base)


def _can_become_another_user() -> bool:
    """Whether another user can start a Python here, read what it is to run, and open what is open
    to everybody. On a machine whose folders only root may enter he can do nothing."""
    if os.geteuid() != 0 or not PYTHONS:
        return False
    opens = "import sys; [open(name, 'rb').close() for name in sys.argv[1:]]"
    names = (str(SOURCE / "mpslint" / "__init__.py"), "/dev/null", "/proc/self/stat")
    try:
        done = subprocess.run(
            [PYTHONS[0], "-S", "-c", opens, *names],
            user=NOBODY,
            group=NOBODY,
            extra_groups=[],
            cwd="/",
            capture_output=True,
        )
    except OSError:
        return False
    return done.returncode == 0


@pytest.mark.skipif(not _can_become_another_user(), reason="no other user can run anything here")
@both_ways
def test_what_is_claimed_for_another_user_is_so(folder: Path, namespaces: bool) -> None:
    import socket

    with socket.socket(socket.AF_UNIX) as neighbour:
        neighbour.bind(f"\0mpslint-{os.getpid()}")
        neighbour.listen(4)
        sleeping = subprocess.Popen(["sleep", "600"], user=NOBODY, group=NOBODY)
        tries = TRIES.format(
            outside=str(folder / "outside"),
            process=sleeping.pid,
            abstract=f"mpslint-{os.getpid()}",
        )
        (folder / "tries.py").write_text(tries)
        try:
            broken, out, errors, measured = _as_nobody(folder, namespaces)
        finally:
            sleeping.kill()
            sleeping.wait()
    if broken and namespaces:
        pytest.skip(f"no namespaces for another user: {broken}")
    assert broken is None, errors
    reached = set(json.loads(out))
    claimed = {what for what in ("network", "writes", "metadata", "signals", "sockets")
               if measured[what]}  # fmt: skip
    assert not reached & claimed, f"claimed, but reached: {reached & claimed}"
    assert len(describe(measured, 1, 1, 1, 1).missing) >= len(reached)


def _as_nobody(folder: Path, namespaces: bool) -> Any:
    done = subprocess.run(
        [PYTHONS[0], "-B", "-c", RUNS.format(), str(folder), str(namespaces)],
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        cwd="/",
        env={"PYTHONPATH": str(SOURCE), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
