"""What a script leaves behind is read without waiting, without an end, and never through a link."""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy
import pytest

from mpslint.verify import Request, contents, numbers, saved, snapshot, storages, tracing, verify
from mpslint.verify.request import BadRequest
from mpslint.verify.workshop import Workshop

ENDLESS = 600


@pytest.fixture(autouse=True)
def ended_in_time() -> Iterator[None]:
    """What has no end fails then, instead of keeping everybody waiting."""

    def late(*_: object) -> None:
        raise AssertionError(f"not done in {ENDLESS} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(ENDLESS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def only(folder: Path) -> contents.Saved:
    (found,) = saved.collect(str(folder), {}).values()
    return found


@pytest.mark.parametrize("name", ["a.pt", "a.json", "a.npy", "a.npz"])
class TestNoFiles:
    def test_a_pipe_is_passed_over(self, tmp_path: Path, name: str) -> None:
        os.mkfifo(tmp_path / name)
        assert saved.collect(str(tmp_path), {}) == {}
        assert saved.read(str(tmp_path / name)) == contents.Unread("not a regular file")

    def test_a_link_is_passed_over_wherever_it_leads(self, tmp_path: Path, name: str) -> None:
        (tmp_path / "secret").write_text("loss 0.125")
        (tmp_path / "run").mkdir()
        for number, target in enumerate(["/dev/zero", "../secret", name]):
            (tmp_path / "run" / f"{number}{name}").symlink_to(target)
        assert saved.collect(str(tmp_path / "run"), {}) == {}
        link = str(tmp_path / "run" / f"1{name}")
        assert saved.read(link) == contents.Unread("not a regular file")

    def test_a_file_of_any_size_is_not_read_whole(self, tmp_path: Path, name: str) -> None:
        with open(tmp_path / name, "wb") as file:
            file.truncate(1 << 40)
        found = only(tmp_path)
        assert isinstance(found, contents.Unread)
        assert found.reason.startswith("larger than ")


def archive(folder: Path, *parts: tuple[str, bytes], packed: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(folder / "a.npz", "w", packed) as file:
        for name, data in parts:
            file.writestr(name, data)
    return folder / "a.npz"


def test_an_archive_that_grows_when_it_is_unpacked_is_left_packed(tmp_path: Path) -> None:
    path = archive(tmp_path, ("m/data/0", bytes(40 << 20)), ("m/data/1", bytes(40 << 20)))
    assert path.stat().st_size < 1 << 20
    assert only(tmp_path) == contents.Unread("larger than 67,108,864 bytes when it is unpacked")


def test_an_archive_that_says_less_than_it_grows_to_is_not_believed(tmp_path: Path) -> None:
    path = archive(tmp_path, ("m/data/0", bytes(40 << 20)))
    path.write_bytes(path.read_bytes().replace(struct.pack("<I", 40 << 20), struct.pack("<I", 99)))
    assert only(tmp_path) == contents.Unread("not read: BadZipFile")


def test_an_archive_whose_parts_are_one_and_the_same_is_counted(tmp_path: Path) -> None:
    """One packed part under many names, so that each of them grows."""
    one = archive(tmp_path, ("m/data/0", bytes(16 << 20))).read_bytes()
    listing = one.index(b"PK\1\2")
    end = one.index(b"PK\5\6")
    many = [one[listing:end].replace(b"data/0", f"data/{n}".encode()) for n in range(9)]
    directory = b"".join(many)
    tail = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 9, 9, len(directory), listing, 0)
    (tmp_path / "a.npz").write_bytes(one[:listing] + directory + tail)
    found = only(tmp_path)
    assert found == contents.Unread("larger than 67,108,864 bytes when it is unpacked")


def test_an_archive_of_very_many_parts_is_left_alone(tmp_path: Path) -> None:
    archive(tmp_path, *((f"m/data/{n}", b"") for n in range(10_001)))
    assert only(tmp_path) == contents.Unread("more than 10,000 parts")


@pytest.mark.parametrize("packed", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_an_archive_that_is_packed_in_an_odd_way_is_left_alone(tmp_path: Path, packed: int) -> None:
    archive(tmp_path, ("m/data/0", b"1234"), packed=packed)
    assert only(tmp_path) == contents.Unread("packed in a way that neither torch nor numpy packs")


def test_an_archive_that_both_numpy_and_torch_write_is_read(tmp_path: Path) -> None:
    archive(tmp_path, ("m/data/0", b"1234"))
    assert isinstance(only(tmp_path), dict)


def test_all_files_together_have_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved, "_MOST_ALL", 3000)
    for number in range(5):
        numpy.save(tmp_path / f"{number}.npy", numpy.zeros(872, "uint8"))
    found = saved.collect(str(tmp_path), {})
    unread = [isinstance(file, contents.Unread) for file in found.values()]
    assert unread == [False] * 2 + [True] * 3
    assert saved.unread(found)[0] == "2.npy (all together larger than 3,000 bytes)"


def test_a_file_that_can_no_longer_be_read_is_a_difference(tmp_path: Path) -> None:
    good = {"a.npz": contents.Text(())}
    bad = {"a.npz": contents.Unread("more than 10,000 parts")}
    told = saved.difference(good, bad, 1e-5)
    assert told == "a.npz cannot be compared with the original's: more than 10,000 parts"
    assert saved.difference(bad, bad, 1e-5) is None
    assert not saved.has_numbers(bad)


def numpy_file(header: bytes) -> bytes:
    return b"\x93NUMPY\2\0" + struct.pack("<I", len(header)) + header + b"1234"


@pytest.mark.parametrize(
    "header",
    [
        b"-" * 20_000 + b"1",
        b"[" * 20_000,
        b"{'descr': " + b"9" * 5000 + b"}",
        b"{'descr': '<f4'}" + b" " * 10_000_000,
        b"{'descr': ['<f4']}",
        b"[]",
        b"\0",
        b"",
    ],
    ids=["signs", "brackets", "digits", "long", "list", "no table", "zero", "nothing"],
)
def test_a_header_made_to_take_long_is_no_header(header: bytes) -> None:
    data = numpy_file(header)
    assert storages.numpy_kind(data)[0] is None


@pytest.mark.parametrize(
    "pickled",
    [
        b"I" + b"9" * 5000 + b"\n.",
        b"L" + b"9" * 5000 + b"L\n.",
        b"\x8a\xff" + b"9" * 255 + b".",
        b"F1e99999\n.",
        b"g" + b"9" * 5000 + b"\n.",
        b"\x8e" + b"\xff" * 8,
        b"X\xff\xff\xff\x7fabc",
        b"V\\ud800\n.",
        b"(" * (5 << 20),
    ],
)
def test_a_pickle_made_to_take_long_names_nothing(pickled: bytes) -> None:
    assert storages.storage_kinds(pickled) == {}


@pytest.mark.parametrize(
    "line", ["1" * 400_000, "1" * 400_000 + "x", "1." * 200_000, "-1" * 200_000]
)
def test_a_line_of_digits_is_read_once(line: str) -> None:
    assert len(numbers.of(line)) <= 1
    assert numbers.of(f"{line} 12:30") == numbers.of(line)


def test_folders_below_each_other_without_end_are_walked(tmp_path: Path) -> None:
    here = os.open(tmp_path, os.O_RDONLY)
    try:
        for _ in range(1500):
            os.mkdir("d", dir_fd=here)
            below = os.open("d", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
        (tmp_path / "a.json").write_text("1")
        assert list(saved.states(str(tmp_path))) == ["a.json"]
    finally:
        os.close(here)
        # What pytest would do it with calls itself for each level.
        subprocess.run(["rm", "-rf", str(tmp_path / "d")], check=True)


@pytest.fixture
def workshop(tmp_path: Path) -> Iterator[Workshop]:
    """The place of a verification, before anything is run."""
    script = tmp_path / "work" / "train.py"
    script.parent.mkdir()
    script.write_text("x = 1\n")
    made = Workshop(Request(str(script)), python=None)  # type: ignore[arg-type]
    with made:
        made.lay_out({})
        yield made


def test_a_link_that_a_set_up_made_of_the_script_is_not_written_through(
    workshop: Workshop, tmp_path: Path
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    pristine = Path(workshop.base) / "pristine"
    (pristine / "train.py").unlink()
    (pristine / "train.py").symlink_to(victim)
    workshop.lay_out({workshop.script: b"patched"})
    assert victim.read_text() == "mine"
    assert Path(workshop.inside(workshop.script)).read_bytes() == b"patched"


def test_a_folder_that_a_set_up_made_a_link_is_not_written_through(
    workshop: Workshop, tmp_path: Path
) -> None:
    (tmp_path / "victim").mkdir()
    (Path(workshop.base) / "pristine" / "pkg").symlink_to(tmp_path / "victim")
    for name in ("a.py", "deeper/a.py"):
        with pytest.raises(BadRequest, match="put a link to outside in its way"):
            workshop.lay_out({os.path.join(workshop.root, "pkg", name): b"patched"})
    assert os.listdir(tmp_path / "victim") == []


def test_a_file_that_a_set_up_made_a_folder_is_named(workshop: Workshop) -> None:
    pristine = Path(workshop.base) / "pristine"
    (pristine / "train.py").unlink()
    (pristine / "train.py").mkdir()
    with pytest.raises(BadRequest, match=r"train\.py: the set-up command put something in its way"):
        workshop.lay_out({workshop.script: b"patched"})


def test_a_program_of_the_project_can_still_be_called_when_it_is_rewritten(
    workshop: Workshop,
) -> None:
    (Path(workshop.base) / "pristine" / "train.py").chmod(0o744)
    workshop.lay_out({workshop.script: b"patched"})
    assert os.access(workshop.inside(workshop.script), os.X_OK)


def test_special_files_are_not_copied(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/zero")
    (tmp_path / "file").write_text("")
    names = sorted(os.listdir(tmp_path))
    assert snapshot.special_files(str(tmp_path), names) == ["pipe"]


def test_a_trace_shows_lines_of_the_project_alone(tmp_path: Path) -> None:
    """Which file a line is in, the run says."""
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "a.py").write_text("x = 1\ny = 2\n")
    (tmp_path / "secret.py").write_text("token\n")
    (tmp_path / "project" / "key.txt").write_text("token\n")
    (tmp_path / "project" / "link.py").symlink_to("../secret.py")
    (tmp_path / "project" / "zero.py").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "project" / "pipe.py")
    sources = tracing._Sources([str(tmp_path / "project")])
    project = str(tmp_path / "project")
    assert sources.line(f"{project}/a.py", 2) == "y = 2"
    for name in ("link.py", "zero.py", "pipe.py", "key.txt", "../secret.py", "a\0.py", "none.py"):
        assert sources.line(f"{project}/{name}", 1) == "", name
    for number in (0, -1, 3):
        assert sources.line(f"{project}/a.py", number) == ""


LEAVES = """\
import os, zipfile
import torch

os.mkfifo("pipe.pt")
os.symlink("/dev/zero", "zero.json")
with zipfile.ZipFile("bomb.npz", "w", zipfile.ZIP_DEFLATED) as file:
    file.writestr("data/0", bytes(80 << 20))
with open("deep.npy", "wb") as file:
    file.write(b"\\x93NUMPY\\1\\0\\xff\\xff" + b"-" * 65535)
x = torch.ones(2).sum()
print("1" * 40_000)
print(x.item())
"""


def test_a_script_that_leaves_all_of_it_gets_a_verdict(script: Callable[[str, str], str]) -> None:
    path = script("train.py", LEAVES)
    told = verify(Request(path, devices=("cpu",), patched={path: f"{LEAVES}\n".encode()}))
    assert told.verdict in ("pass", "inconclusive")
    assert any(note.startswith("not compared: bomb.npz (larger than ") for note in told.notes)
    assert json.loads(told.to_json())["verdict"] == told.verdict
