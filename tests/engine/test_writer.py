"""A file is replaced as a whole or stays as it was."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mpslint.errors import CannotWrite
from mpslint.writer import replace

BEFORE, AFTER = b"before\n", b"after, and longer\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_bytes(BEFORE)
    return path


def listing(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def test_the_new_bytes_take_the_place_of_the_old(file: Path) -> None:
    replace(str(file), BEFORE, AFTER)
    assert file.read_bytes() == AFTER
    assert listing(file.parent) == ["train.py"]


@pytest.mark.parametrize("mode", [0o644, 0o755, 0o600])
def test_the_mode_is_kept(file: Path, mode: int) -> None:
    file.chmod(mode)
    replace(str(file), BEFORE, AFTER)
    assert stat.S_IMODE(file.stat().st_mode) == mode


def test_a_symlink_stays_and_its_target_changes(file: Path) -> None:
    link = file.parent / "link.py"
    link.symlink_to(file)
    replace(str(link), BEFORE, AFTER)
    assert link.is_symlink()
    assert file.read_bytes() == AFTER


def test_every_hard_link_sees_the_change(file: Path) -> None:
    other = file.parent / "other.py"
    os.link(file, other)
    replace(str(file), BEFORE, AFTER)
    assert other.read_bytes() == AFTER
    assert other.stat().st_ino == file.stat().st_ino


def test_a_shorter_text_leaves_nothing_of_the_longer_behind_a_hard_link(file: Path) -> None:
    os.link(file, file.parent / "other.py")
    replace(str(file), BEFORE, b"x")
    assert file.read_bytes() == b"x"


def test_a_file_that_changed_since_it_was_read_is_left_alone(file: Path) -> None:
    file.write_bytes(b"somebody's edit\n")
    with pytest.raises(CannotWrite, match="has changed since it was read"):
        replace(str(file), BEFORE, AFTER)
    assert file.read_bytes() == b"somebody's edit\n"


def test_a_file_that_is_gone_is_not_made_again(file: Path) -> None:
    file.unlink()
    with pytest.raises(CannotWrite, match="cannot be read again: no such file"):
        replace(str(file), BEFORE, AFTER)
    assert listing(file.parent) == []


def test_a_read_only_file_is_left_alone(file: Path) -> None:
    file.chmod(0o444)
    with pytest.raises(CannotWrite, match="is read-only"):
        replace(str(file), BEFORE, AFTER)
    assert file.read_bytes() == BEFORE


def refuse(number: int) -> object:
    def fail(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail


@pytest.mark.parametrize("step", ["os.fsync", "os.replace", "tempfile.mkstemp"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EIO])
def test_a_failure_at_any_step_leaves_the_file_and_no_rubbish(
    file: Path, monkeypatch: pytest.MonkeyPatch, step: str, number: int
) -> None:
    monkeypatch.setattr(step, refuse(number))
    with pytest.raises(CannotWrite) as caught:
        replace(str(file), BEFORE, AFTER)
    reason = os.strerror(number).lower()
    assert str(caught.value) == f"{file}: cannot be written: {reason}; the file is unchanged"
    assert file.read_bytes() == BEFORE
    assert listing(file.parent) == ["train.py"]


def test_a_hard_linked_file_is_put_back_when_the_disk_fills_up(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.link(file, file.parent / "other.py")
    real, calls = os.fsync, []

    def full_once(handle: int) -> None:
        calls.append(handle)
        if len(calls) == 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(handle)

    monkeypatch.setattr(os, "fsync", full_once)
    with pytest.raises(CannotWrite, match="no space left on device"):
        replace(str(file), BEFORE, AFTER)
    assert file.read_bytes() == BEFORE


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB, where this machine lets one be mounted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip("mounting needs root; the failing steps are tested above without it")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("links", [1, 2])
def test_a_really_full_disk_leaves_the_file(small_disk: Path, links: int) -> None:
    file = small_disk / "train.py"
    file.write_bytes(BEFORE)
    if links == 2:
        os.link(file, small_disk / "other.py")
    with open(small_disk / "filler", "wb", buffering=0) as filler:
        while True:
            try:
                filler.write(b"x" * 4096)
            except OSError:
                break
    with pytest.raises(CannotWrite, match="no space left on device"):
        replace(str(file), BEFORE, AFTER * 2000)
    assert file.read_bytes() == BEFORE
    assert "filler" in listing(small_disk)
    assert not any(name.endswith(".mpslint") for name in listing(small_disk))
