"""A copy of the project is whole again before each run, whatever the last run did to it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from mpslint.verify.copies import Copies


@pytest.fixture
def copies(tmp_path: Path) -> Copies:
    pristine = tmp_path / "pristine"
    (pristine / "sub").mkdir(parents=True)
    (pristine / "train.py").write_text("print(1)\n")
    (pristine / "sub" / "data.csv").write_text("1,2\n")
    (pristine / "link").symlink_to("train.py")
    return Copies(str(pristine), str(tmp_path / "spares"))


def contents(folder: Path) -> dict[str, tuple[int, str]]:
    """Relative path -> mode, and text or where a link points, of all below a folder."""
    found = {}
    for path in [folder, *folder.rglob("*")]:
        text = ""
        if path.is_symlink():
            text = os.readlink(path)
        elif path.is_file():
            text = path.read_text()
        found[str(path.relative_to(folder))] = (path.lstat().st_mode, text)
    return found


def write_as_long_and_as_old(place: Path) -> None:
    before = (place / "train.py").stat()
    (place / "train.py").write_text("print(2)\n")
    os.utime(place / "train.py", ns=(before.st_atime_ns, before.st_mtime_ns))


def put_a_link_in_place_of_a_folder(place: Path) -> None:
    shutil.rmtree(place / "sub")
    (place.parent / "outside").mkdir()
    (place / "sub").symlink_to(place.parent / "outside")


def put_another_folder_in_its_place(place: Path) -> None:
    shutil.rmtree(place)
    place.mkdir()


DAMAGE: dict[str, Callable[[Path], object]] = {
    "nothing": lambda place: None,
    "a file that is as long and as old": write_as_long_and_as_old,
    "a longer file": lambda place: (place / "sub" / "data.csv").write_text("1,2,3\n"),
    "a removed file": lambda place: (place / "train.py").unlink(),
    "a new file": lambda place: (place / "sub" / "weights.pt").write_text("new"),
    "new folders": lambda place: (place / "out" / "a").mkdir(parents=True),
    "a new link": lambda place: (place / "sub" / "new").symlink_to("/"),
    "a second name of a file": lambda place: os.link(place / "train.py", place / "again.py"),
    "another mode": lambda place: (place / "train.py").chmod(0o000),
    "a closed folder": lambda place: (place / "sub").chmod(0o000),
    "a removed folder": lambda place: shutil.rmtree(place / "sub"),
    "a link in place of a folder": put_a_link_in_place_of_a_folder,
    "a folder in place of a file": lambda place: (
        (place / "train.py").unlink(),
        (place / "train.py").mkdir(),
    ),
    "another folder in its place": put_another_folder_in_its_place,
    "no folder at all": shutil.rmtree,
}


@pytest.mark.parametrize("what", DAMAGE)
def test_a_copy_is_whole_again_after(copies: Copies, tmp_path: Path, what: str) -> None:
    place = tmp_path / "project"
    assert copies.fresh(str(place))
    DAMAGE[what](place)
    assert copies.fresh(str(place))
    assert contents(place) == contents(tmp_path / "pristine")


def test_what_a_link_pointed_to_is_left_alone(copies: Copies, tmp_path: Path) -> None:
    place = tmp_path / "project"
    copies.fresh(str(place))
    put_a_link_in_place_of_a_folder(place)
    (tmp_path / "outside" / "work").write_text("of years")
    copies.fresh(str(place))
    assert (tmp_path / "outside" / "work").read_text() == "of years"


def test_what_a_run_left_alone_is_not_copied_again(copies: Copies, tmp_path: Path) -> None:
    place = tmp_path / "project"
    copies.fresh(str(place))
    before = (place / "train.py").stat().st_ino
    (place / "sub" / "data.csv").write_text("other")
    copies.fresh(str(place))
    assert (place / "train.py").stat().st_ino == before


def test_the_copy_of_a_run_that_is_over_serves_another(copies: Copies, tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    copies.fresh(str(one))
    before = (one / "train.py").stat().st_ino
    (one / "sub" / "data.csv").write_text("other")
    copies.spare(str(one))
    copies.fresh(str(other))
    assert not one.exists()
    assert (other / "train.py").stat().st_ino == before
    assert contents(other) == contents(tmp_path / "pristine")


def test_of_another_snapshot_another_copy_is_made(copies: Copies, tmp_path: Path) -> None:
    place = tmp_path / "project"
    copies.fresh(str(place))
    (tmp_path / "pristine" / "made.txt").write_text("by the set-up command")
    copies.fresh(str(place))
    assert contents(place) == contents(tmp_path / "pristine")
