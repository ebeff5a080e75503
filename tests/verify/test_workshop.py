"""What a run or the set-up command leaves behind does not stop mpslint, nor lead it astray."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mpslint.verify import Request, interpreter, verify
from mpslint.verify.request import BadRequest
from mpslint.verify.workshop import Workshop

Script = Callable[[str, str], str]
PLAIN = "print(1)\n"


def workshop(path: str, **settings: object) -> Workshop:
    request = Request(path, timeout=60.0, **settings)  # type: ignore[arg-type]
    return Workshop(request, interpreter.ask(request.interpreter, {}))


def test_a_run_that_leaves_read_only_folders_is_followed_by_the_next(script: Script) -> None:
    text = (
        "import os, torch\nx = torch.ones(3, device='mps') * 2\n"
        "os.makedirs('closed/inner'); open('closed/inner/f', 'w').close()\n"
        "os.chmod('closed/inner', 0o500)\nos.chmod('closed', 0o500)\n"
    )
    path = script("train.py", text)
    request = Request(path, devices=("mps", "cpu"), negative_control=False, timeout=600.0)
    assert [run.device for run in verify(request).runs] == ["cpu", "mps"]


def test_a_pipe_that_the_set_up_command_made_is_left_out(script: Script) -> None:
    path = script("train.py", PLAIN)
    with workshop(path) as place:
        assert place.set_up("mkfifo pipe; echo 1 > data").code == 0
        place.lay_out({})
        assert sorted(os.listdir(os.path.dirname(place.inside(path)))) == ["data", "train.py"]


@pytest.mark.parametrize("command", ["rm train.py; ln -s {} train.py", "rm -r sub; ln -s {} sub"])
def test_a_link_that_the_set_up_command_made_is_not_written_through(
    script: Script, tmp_path: Path, command: str
) -> None:
    path = script("train.py", PLAIN)
    nested = script("sub/module.py", PLAIN)
    outside = tmp_path / "outside"
    if "sub" in command:
        outside.mkdir()
    else:
        outside.write_text("years of work")
    with workshop(path) as place:
        assert place.set_up(command.format(outside)).code == 0
        files = {path: b"new", nested: b"new"}
        if outside.is_dir():
            with pytest.raises(BadRequest, match="put a link to outside in its way"):
                place.lay_out(files)
        else:
            place.lay_out(files)
            assert Path(place.inside(path)).read_bytes() == b"new"
    assert os.listdir(outside) == [] if outside.is_dir() else outside.read_text() == "years of work"


def test_a_script_outside_of_the_folder_to_copy_leaves_no_temporary_folder(
    script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = script("train.py", PLAIN)
    (tmp_path / "other").mkdir()
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    with pytest.raises(BadRequest, match="lies outside"):
        workshop(path, root=str(tmp_path / "other"))
    assert os.listdir(tmp_path / "tmp") == []
