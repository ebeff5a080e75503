"""The temporary folder of a verification does not stay behind."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO

import pytest

from mpslint.verify import temporary
from mpslint.verify.temporary import remove

HOLD = """
import sys, time
from mpslint.verify import temporary
try:
    with temporary.cleaned_up_when_asked_to_end(), temporary.folder() as folder:
        print(folder, flush=True)
        time.sleep(600)
finally:
    print("unwound", flush=True)
"""


def holding(folder: Path) -> subprocess.Popen[str]:
    """A process that has a temporary folder in `folder`, and has said so."""
    return subprocess.Popen(
        [sys.executable, "-c", HOLD],
        env={**os.environ, "TMPDIR": str(folder)},
        stdout=subprocess.PIPE,
        text=True,
    )


def name_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_a_signal_ends_the_process_after_it_cleaned_up(tmp_path: Path, name: str) -> None:
    process = holding(tmp_path)
    folder = name_of(process)
    assert os.path.isdir(folder)
    process.send_signal(getattr(signal, name))
    process.communicate(timeout=60)
    assert process.returncode == -getattr(signal, name)
    assert os.listdir(tmp_path) == []


def test_a_folder_is_not_taken_for_a_dead_process_s_while_it_is_being_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    sweep, lock = temporary._sweep, fcntl.flock

    def another_sweeps_before_the_lock_is_held(handle: IO[bytes], how: int) -> None:
        if how == fcntl.LOCK_EX:
            sweep()
        lock(handle, how)

    monkeypatch.setattr(fcntl, "flock", another_sweeps_before_the_lock_is_held)
    with temporary.folder() as folder:
        assert os.path.isdir(folder)


def test_what_a_killed_process_left_is_removed_by_the_next_one(tmp_path: Path) -> None:
    killed = holding(tmp_path)
    left = name_of(killed)
    killed.kill()
    killed.communicate()
    assert os.path.isdir(left)
    other = holding(tmp_path)
    name_of(other)
    third = holding(tmp_path)
    name_of(third)
    assert not os.path.exists(left)
    assert len(os.listdir(tmp_path)) == 2  # those of the living ones
    for process in (other, third):
        process.terminate()
        process.communicate()


def test_a_link_with_the_name_of_a_temporary_folder_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis.txt").write_text("years of work")
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp" / "mpslint-verify-x").symlink_to(precious)
    with temporary.folder():
        pass
    assert (precious / "thesis.txt").exists()


def test_a_folder_that_was_made_read_only_is_removed(tmp_path: Path) -> None:
    top = tmp_path / "top"
    (top / "closed" / "inner").mkdir(parents=True)
    (top / "closed" / "inner" / "file").touch()
    for folder in (top / "closed" / "inner", top / "closed", top):
        folder.chmod(0o000)
    assert remove(str(top))
    assert not top.exists()


def test_a_folder_that_is_nested_too_deep_for_python_is_removed(tmp_path: Path) -> None:
    here = os.open(tmp_path, os.O_RDONLY)
    os.mkdir("top", dir_fd=here)
    folder = os.open("top", os.O_RDONLY, dir_fd=here)
    for _ in range(3000):
        os.mkdir("d", dir_fd=folder)
        inner = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(folder)
    assert remove(str(tmp_path / "top"))
    os.close(here)


def test_a_link_in_a_folder_is_removed_and_what_it_leads_to_stays(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir(mode=0o500)
    (tmp_path / "top").mkdir()
    (tmp_path / "top" / "link").symlink_to(tmp_path / "outside")
    assert remove(str(tmp_path / "top"))
    assert (tmp_path / "outside").stat().st_mode & 0o777 == 0o500


def test_a_handler_of_the_callers_own_stays(tmp_path: Path) -> None:
    heard = []
    before = signal.signal(signal.SIGTERM, lambda *_: heard.append(1))
    try:
        with temporary.cleaned_up_when_asked_to_end():
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.01)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert heard == [1]


def test_a_link_is_removed_and_nothing_is_done_to_where_it_leads(tmp_path: Path) -> None:
    inner = tmp_path / "theirs" / "inner"
    inner.mkdir(parents=True)
    for folder in (inner.parent, inner):
        folder.chmod(0o755)
    link = tmp_path / "link"
    link.symlink_to(inner.parent)
    assert remove(str(link))
    assert not link.is_symlink()
    assert [path.stat().st_mode & 0o777 for path in (inner.parent, inner)] == [0o755, 0o755]


def test_a_pipe_is_removed_without_waiting_for_who_writes_to_it(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    code = (
        "import sys; from mpslint.verify.temporary import remove; sys.exit(not remove(sys.argv[1]))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(pipe)], timeout=60, check=False)
    assert done.returncode == 0
    assert not pipe.exists()
