"""A file is replaced as a whole or stays as it was."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mpslint.errors import CannotWrite
from mpslint.sources import writer
from mpslint.sources.swapping import swap
from mpslint.sources.writer import create, replace

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


def test_a_file_with_several_names_is_refused(file: Path) -> None:
    """Written in place it would be torn by whatever ends mpslint meanwhile."""
    os.link(file, file.parent / "other.py")
    with pytest.raises(CannotWrite, match=r"has 2 names \(hard links\).*; the file is unchanged"):
        replace(str(file), BEFORE, AFTER)
    assert (file.read_bytes(), (file.parent / "other.py").read_bytes()) == (BEFORE, BEFORE)
    assert listing(file.parent) == ["other.py", "train.py"]


def test_a_file_that_changed_since_it_was_read_is_left_alone(file: Path) -> None:
    file.write_bytes(b"somebody's edit\n")
    with pytest.raises(CannotWrite, match="has changed since it was read"):
        replace(str(file), BEFORE, AFTER)
    assert file.read_bytes() == b"somebody's edit\n"


def saved_in_place(file: Path) -> None:
    file.write_bytes(b"somebody's")


def saved_by_a_rename(file: Path) -> None:
    (file.parent / "new").write_bytes(b"somebody's")
    os.rename(file.parent / "new", file)


@pytest.mark.parametrize("save", [saved_in_place, saved_by_a_rename])
@pytest.mark.parametrize("step", ["fsync", "chmod"])
def test_what_is_saved_while_the_new_text_is_written_stays(
    file: Path, monkeypatch: pytest.MonkeyPatch, step: str, save: Callable[[Path], None]
) -> None:
    monkeypatch.setattr(writer, "_sync_folder", lambda _: None)
    monkeypatch.setattr(os, step, lambda *_: save(file))
    with pytest.raises(CannotWrite, match="has changed since it was read"):
        replace(str(file), BEFORE, AFTER)
    assert file.read_bytes() == b"somebody's"
    assert listing(file.parent) == ["train.py"]


@pytest.mark.parametrize("save", [saved_in_place, saved_by_a_rename])
def test_what_is_saved_in_the_last_moment_stays(
    file: Path, monkeypatch: pytest.MonkeyPatch, save: Callable[[Path], None]
) -> None:
    saves = [save]

    def last_moment(one: str, other: str) -> bool:
        while saves:
            saves.pop()(file)
        return swap(one, other)

    monkeypatch.setattr(writer, "swap", last_moment)
    with pytest.raises(CannotWrite, match="has changed since it was read"):
        replace(str(file), BEFORE, AFTER)
    assert file.read_bytes() == b"somebody's"
    assert listing(file.parent) == ["train.py"]


@pytest.mark.usefixtures("no_swaps")
def test_a_disk_that_swaps_no_files_gets_the_new_bytes_all_the_same(file: Path) -> None:
    replace(str(file), BEFORE, AFTER)
    assert file.read_bytes() == AFTER
    assert listing(file.parent) == ["train.py"]


def test_a_file_that_another_run_has_changed_in_the_same_way_is_left_alone(file: Path) -> None:
    file.write_bytes(AFTER)
    inode = file.stat().st_ino
    replace(str(file), BEFORE, AFTER)
    assert (file.read_bytes(), file.stat().st_ino) == (AFTER, inode)


@pytest.mark.parametrize("step", ["fsync", "chmod"])
def test_a_file_that_another_run_changes_in_the_same_way_meanwhile_is_left_alone(
    file: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    monkeypatch.setattr(writer, "_sync_folder", lambda _: None)
    monkeypatch.setattr(os, step, lambda *_: file.write_bytes(AFTER))
    inode = file.stat().st_ino
    replace(str(file), BEFORE, AFTER)
    assert (file.read_bytes(), file.stat().st_ino) == (AFTER, inode)
    assert listing(file.parent) == ["train.py"]


def test_a_temporary_file_that_another_run_clears_before_it_is_locked_is_made_again(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = fcntl.flock
    cleared = []

    def too_late(handle: int, how: int) -> None:
        if not cleared:
            cleared.append([path.unlink() for path in file.parent.glob(".*.mpslint")])
        lock(handle, how)

    monkeypatch.setattr(fcntl, "flock", too_late)
    replace(str(file), BEFORE, AFTER)
    assert len(cleared[0]) == 1
    assert file.read_bytes() == AFTER
    assert listing(file.parent) == ["train.py"]


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


@pytest.fixture
def no_swaps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk on which two files cannot be swapped."""
    monkeypatch.setattr(writer, "swap", lambda *_: False)


@pytest.mark.usefixtures("no_swaps")
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


KILLED = """
import importlib, os, signal, sys
from mpslint.sources import writer
step, path = sys.argv[1:]
module, _, name = step.rpartition(".")
die = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
if name == "replace":
    writer.swap = lambda *_: False  # where files cannot be swapped
setattr(importlib.import_module(module), name, die)
before = open(path, "rb").read() if os.path.exists(path) else None
if before is None:
    writer.create(path, b"new" * 1000)
else:
    writer.replace(path, before, before * 1000)
"""


def killed_at(step: str, path: Path) -> None:
    ran = subprocess.run([sys.executable, "-c", KILLED, step, str(path)])
    assert ran.returncode == -signal.SIGKILL


@pytest.mark.parametrize(
    "step", ["os.fsync", "os.chmod", "mpslint.sources.writer.swap", "os.replace"]
)
def test_a_run_that_is_killed_leaves_the_file_and_the_next_one_clears_up(
    file: Path, step: str
) -> None:
    killed_at(step, file)
    assert file.read_bytes() == BEFORE
    assert len(listing(file.parent)) == 2
    (file.parent / "b.py").write_bytes(BEFORE)
    replace(str(file.parent / "b.py"), BEFORE, AFTER)
    assert listing(file.parent) == ["b.py", "train.py"]


@pytest.mark.parametrize("step", ["os.fsync", "os.chmod", "os.link"])
def test_a_new_file_is_there_as_a_whole_or_not_at_all(tmp_path: Path, step: str) -> None:
    killed_at(step, tmp_path / "new.py")
    assert not (tmp_path / "new.py").exists()
    create(str(tmp_path / "new.py"), b"new")
    assert (tmp_path / "new.py").read_bytes() == b"new"
    assert listing(tmp_path) == ["new.py"]


def test_a_new_file_does_not_take_the_place_of_one_that_is_there(file: Path) -> None:
    with pytest.raises(CannotWrite, match="was made meanwhile"):
        create(str(file), AFTER)
    assert (file.read_bytes(), listing(file.parent)) == (BEFORE, ["train.py"])


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_a_new_file_has_the_mode_that_the_user_gives_new_files(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        create(str(tmp_path / "new.py"), b"new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new.py").stat().st_mode) == 0o666 & ~mask


def test_a_new_file_on_a_disk_without_hard_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "link", refuse(errno.EPERM))
    create(str(tmp_path / "new.py"), b"new")
    assert (tmp_path / "new.py").read_bytes() == b"new"
    with pytest.raises(CannotWrite, match="was made meanwhile"):
        create(str(tmp_path / "new.py"), b"newer")


def test_what_another_run_is_writing_and_what_is_not_ours_stays(file: Path) -> None:
    folder = file.parent
    busy = folder / ".a.py.abcdefgh.mpslint"
    foreign = [".a.py.abc.mpslint", "a.py.abcdefgh.mpslint", ".a.py.abcdefgh.txt"]
    for name in foreign:
        (folder / name).write_text("mine")
    (folder / ".b.py.abcdefgh.mpslint").symlink_to(foreign[0])
    with open(busy, "wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        replace(str(file), BEFORE, AFTER)
        expected = sorted([*foreign, busy.name, ".b.py.abcdefgh.mpslint", "train.py"])
        assert listing(folder) == expected
    replace(str(file), AFTER, BEFORE)
    assert not busy.exists()


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


def test_a_really_full_disk_leaves_the_file(small_disk: Path) -> None:
    file = small_disk / "train.py"
    file.write_bytes(BEFORE)
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
