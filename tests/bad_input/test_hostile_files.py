"""A project in which files are no files, or have no end: it is refused in a line, at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import CUDA_ONLY, Cli, Ran

from mpslint.sources.files import files_below, read_regular

ENDLESS = 120
"""Seconds; what has no end is ended then, and the test with it."""


def mpslint(project: Path, *arguments: str) -> Ran:
    """The command in a process of its own, which can be ended."""
    ran = subprocess.run(
        [sys.executable, "-m", "mpslint", *arguments],
        capture_output=True,
        text=True,
        cwd=project,
        timeout=ENDLESS,
        stdin=subprocess.DEVNULL,
    )
    return Ran(ran.returncode, ran.stdout, ran.stderr)


def pipe(path: Path) -> None:
    os.mkfifo(path)


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def listening(path: Path) -> None:
    import socket

    with socket.socket(socket.AF_UNIX) as server:
        here = os.getcwd()
        os.chdir(path.parent)  # the name of a socket must be short
        try:
            server.bind(path.name)
        finally:
            os.chdir(here)


NO_FILES = pytest.mark.parametrize("make", [pipe, endless, listening])


@NO_FILES
@pytest.mark.parametrize("command", ["check", "fix"])
@pytest.mark.parametrize("name", ["a.py", "a.ipynb"])
def test_what_is_named_and_no_regular_file_is_refused(
    project: Path, make: Callable[[Path], None], command: str, name: str
) -> None:
    make(project / name)
    ran = mpslint(project, command, name)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"error: {name}: cannot be read: not a regular file\n"


@NO_FILES
def test_what_is_found_and_no_regular_file_is_passed_over(
    project: Path, make: Callable[[Path], None]
) -> None:
    make(project / "a.py")
    (project / "b.py").write_text("import torch\nfrom a import device\ntorch.cuda.synchronize()\n")
    assert mpslint(project, "check", "--output-format", "concise").code == 1
    assert mpslint(project, "fix", "--no-verify").code == 0


@NO_FILES
@pytest.mark.parametrize("name", ["mpslint.toml", "pyproject.toml"])
def test_settings_that_are_no_regular_file_are_refused(
    project: Path, make: Callable[[Path], None], name: str
) -> None:
    make(project / name)
    ran = mpslint(project, "check")
    assert ran.code == 2
    assert ran.err == f"error: {project / name}: cannot be read: not a regular file\n"


@NO_FILES
def test_an_ignore_file_that_is_no_regular_file_leaves_nothing_out(
    project: Path, make: Callable[[Path], None]
) -> None:
    make(project / ".gitignore")
    (project / "a.py").write_text(CUDA_ONLY)
    ran = mpslint(project, "check", "--output-format", "concise")
    assert ran.code == 1
    assert ran.err == (
        "warning: ./.gitignore: cannot be read, so nothing is left out by it: not a regular file\n"
    )


def test_an_ignore_file_of_another_size_than_people_write_leaves_nothing_out(
    cli: Cli, project: Path
) -> None:
    (project / ".gitignore").write_bytes(b"*.py\n" * 300_000)
    (project / "a.py").write_text(CUDA_ONLY)
    ran = cli("check", "--output-format", "concise")
    assert (ran.code, ran.err.count("\n")) == (1, 1)
    assert "larger than 1,048,576 bytes" in ran.err


STARS = "*a" * 30 + "b"


@pytest.mark.parametrize("pattern", [STARS, f"/{STARS}", f"x/{STARS}", "**/a" * 30 + "/b"])
def test_a_line_of_stars_in_an_ignore_file_is_read_like_any_other(
    project: Path, pattern: str
) -> None:
    deep = project / "x" / Path(*["a"] * 60)
    deep.mkdir(parents=True)
    for folder in (project, project / "x", deep):
        (folder / f"{'a' * 200}.py").write_text("x = 1\n")
    (project / ".gitignore").write_text(f"{pattern}\n")
    assert mpslint(project, "check", "--no-cache").code == 0


@pytest.mark.parametrize("key", ["exclude", "extend-exclude", "per-file-ignores"])
def test_a_line_of_stars_in_the_settings_is_read_like_any_other(project: Path, key: str) -> None:
    globs = [STARS, "[!b]*" * 100 + "b", "*/" * 200]
    value = json.dumps(globs)
    if key == "per-file-ignores":
        value = "{ " + ", ".join(f'{json.dumps(glob)} = ["MPS1"]' for glob in globs) + " }"
    (project / "mpslint.toml").write_text(f"{key} = {value}\n")
    (project / f"{'a' * 200}.py").write_text(CUDA_ONLY)
    assert mpslint(project, "check", "--no-cache").code == 1


@pytest.mark.parametrize("key", ["exclude", "extend-exclude", "per-file-ignores"])
def test_a_glob_that_takes_long_to_read_is_refused(project: Path, key: str) -> None:
    glob = json.dumps("[" * 50_000)
    value = f'{{ {glob} = ["MPS1"] }}' if key == "per-file-ignores" else f"[{glob}]"
    (project / "mpslint.toml").write_text(f"{key} = {value}\n")
    (project / "a.py").write_text(CUDA_ONLY)
    ran = mpslint(project, "check")
    assert ran.code == 2
    assert ran.err.startswith(f"error: {project / 'mpslint.toml'}: '{key}' must be ")
    assert "globs of at most 1,000 characters" in ran.err
    assert len(ran.err) < 500


BAD_TOML = {
    "long key": (".".join(["a"] * 50_000) + " = 1", "has a key of more than 64 parts; shorten it"),
    "long key of a table": ("[" + " . ".join(["'a'"] * 50_000) + "]", "more than 64 parts"),
    "many digits": ("max-file-size = " + "9" * 5000, "not valid TOML: "),
    "many digits of base 16": ("max-file-size = 0x" + "f" * 5000, "'max-file-size' must be a num"),
    "many digits of a version": (f'min-torch = "{"9" * 5000}.1"', "'min-torch' must be a torch"),
    "nested": ("select = " + "[" * 50_000, "not valid TOML: nested too deeply"),
    "odd key": ("k" * 50_000 + " = 1", "unknown key 'kkkk"),
    "odd rule": (f'select = ["{"k" * 50_000}"]', "unknown rule 'kkkk"),
    "large": ("#" * 2_000_000, "cannot be read: larger than 1,048,576 bytes"),
}


@pytest.mark.parametrize(("text", "reason"), BAD_TOML.values(), ids=BAD_TOML)
@pytest.mark.parametrize("name", ["mpslint.toml", "pyproject.toml"])
def test_settings_made_to_take_long_are_refused(
    project: Path, name: str, text: str, reason: str
) -> None:
    head = "" if name == "mpslint.toml" else "[tool.mpslint]\n"
    (project / name).write_text(f"{head}{text}\n")
    (project / "a.py").write_text(CUDA_ONLY)
    ran = mpslint(project, "check")
    assert ran.code == 2
    assert ran.err.startswith(f"error: {project / name}: ")
    assert reason in ran.err
    assert (ran.err.count("\n"), len(ran.err) < 1000) == (1, True)


@pytest.mark.parametrize("key", ["a.b.c", '"x.y".z', "'a'.\"b\""])
def test_keys_of_other_tools_with_dots_are_read(cli: Cli, project: Path, key: str) -> None:
    text = "".join(f"[tool.x{n}]\n{key} = 1.0\n" for n in range(80))
    (project / "pyproject.toml").write_text(f'{text}[tool.mpslint]\nignore = ["MPS201"]\n')
    (project / "a.py").write_text(CUDA_ONLY)
    assert cli("check").code == 0


def test_a_number_of_more_digits_than_python_reads_in_a_notebook(cli: Cli, project: Path) -> None:
    text = '{"cells": [], "torch": ' + "9" * 5000 + "}"
    (project / "a.ipynb").write_text(text)
    ran = cli("check", "a.ipynb")
    assert ran.code == 2
    assert ran.err.startswith("error: a.ipynb: not valid JSON: ")
    assert "internal error" not in ran.err


@pytest.mark.parametrize(
    "number", ["0x" + "f" * 5000, "9" * 5000, "1" + "0" * 4000, "-" * 50 + "1"]
)
@pytest.mark.parametrize(
    "line",
    [
        "torch.cuda.set_device({})",
        'torch.ones(2, device=f"cuda:{{{}}}")',
        "x.to({})",
        'torch.device("cuda", {})',
        "for i in range({}): print(torch.ones(1).cuda({}).item())",
        "n = {}\nif torch.cuda.device_count() > n: y = torch.ones(n).cuda(n)",
        "torch.zeros({}, device='cuda:' + str({}))",
        "n = {0} ** {0} ** {0}\ntorch.cuda.set_device(n)",
        "n = 'cuda' * {0} * {0}\ntorch.ones(1, device=n)",
        "n = 1 << {0} << {0}\ntorch.ones(1, device=n)",
    ],
)
def test_numbers_without_end_in_a_file_are_no_fault_of_ours(
    cli: Cli, project: Path, number: str, line: str
) -> None:
    text = "import torch\nx = torch.ones(1).cuda()\n" + line.format(number, number) + "\n"
    (project / "a.py").write_text(text)
    ran = cli("check", "--no-cache", "a.py")
    assert "internal error" not in ran.err


def test_a_file_is_read_as_far_as_the_limit(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    assert read_regular(str(tmp_path / "a"), 5) == b"12345"
    assert read_regular(str(tmp_path / "a")) == b"12345"
    with pytest.raises(OSError, match="larger than 4 bytes"):
        read_regular(str(tmp_path / "a"), 4)


@pytest.mark.skipif(not os.path.exists("/proc/version"), reason="a file of Linux")
def test_a_file_that_says_it_is_empty_and_is_not_is_read(tmp_path: Path) -> None:
    assert read_regular("/proc/version").startswith(b"Linux")
    with pytest.raises(OSError, match="larger than 3 bytes"):
        read_regular("/proc/version", 3)


def test_a_link_is_no_regular_file_where_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("a")
    assert read_regular(str(tmp_path / "link")) == b"12345"
    with pytest.raises(OSError, match="not a regular file"):
        read_regular(str(tmp_path / "link"), follow=False)


def test_a_walk_follows_no_link_and_asks_before_it_enters(tmp_path: Path) -> None:
    for name in ("in/a", "out/b"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("")
    (tmp_path / "in" / "loop").symlink_to("..")
    (tmp_path / "in" / "self").symlink_to("self")
    (tmp_path / "in" / "file").symlink_to("a")
    found = files_below(str(tmp_path), lambda folder: not folder.endswith("out"))
    assert {os.path.relpath(path, tmp_path) for path in found} == {"in/a", "in/self", "in/file"}
