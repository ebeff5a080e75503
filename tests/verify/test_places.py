"""The home folder is hidden, whatever the search paths say, or the report does not say so."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from mpslint.verify import interpreter, places
from mpslint.verify.isolation import describe
from mpslint.verify.sandbox import process
from mpslint.verify.sandbox.process import Command, Ended, Limits

from .conftest import both_ways, contained, linux


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a token, a module, a package, a program, and other people's things."""
    folder = tmp_path / "home"
    for name in ("package", "photos", ".ssh"):
        (folder / name).mkdir(parents=True)
    (folder / ".netrc").write_text("password hunter2")
    (folder / "notes.txt").write_text("private")
    (folder / "helper.py").write_text("value = 7")
    (folder / "package" / "__init__.py").write_text("value = 8")
    (folder / "tool").write_text("#!/bin/sh\necho tool")
    (folder / "tool").chmod(0o755)
    monkeypatch.setenv("HOME", str(folder))
    return folder


def laid_out(
    base: Path, modules: tuple[str, ...] = (), search: tuple[str, ...] = (), **changes: Any
) -> process.Places:
    for name in ("project", "out", "own", "tmp"):
        (base / "run" / name).mkdir(parents=True)
    python = interpreter.ask(sys.executable, {})._replace(**changes)
    writable = [str(base / "run" / name) for name in ("project", "out", "own", "tmp")]
    guarded = [os.path.expanduser("~"), str(base)]
    return places.lay_out(python, search, modules, [str(base)], writable, guarded)


def run(base: Path, found: process.Places, code: str, namespaces: bool) -> Ended:
    limits = Limits(60.0, 3 << 30, 1 << 30, 400, 64 << 20)
    env = {"PATH": "/usr/bin:/bin", "HOME": found.writable[2], "TMPDIR": found.writable[3]}
    argv = [os.path.realpath(sys.executable), "-I", "-S", "-c", code]
    command = Command(argv, found.writable[0], env, found, limits)
    return process.attempt(command, namespaces=namespaces)


def told(ended: Ended) -> str:
    isolation = describe(ended.isolation, 1, 1, 1, 1)
    return "; ".join([*isolation.in_force, *isolation.missing])


READ = """
import os, sys
for name in {names}:
    try: print(open(os.path.join({home!r}, name)).read().split()[0])
    except OSError: print('refused')
"""


@linux
@both_ways
@pytest.mark.parametrize("way", ["itself", "link", "above"])
def test_a_home_that_is_a_folder_of_modules_shows_its_modules_and_nothing_else(
    home: Path, tmp_path: Path, namespaces: bool, way: str
) -> None:
    named = {"itself": home, "link": tmp_path / "link", "above": home}[way]
    if way == "link":
        named.symlink_to(home)
    search = (str(tmp_path),) if way == "above" else ()
    found = laid_out(tmp_path / "base", (str(named),), search)
    names = [".netrc", "notes.txt", "helper.py", "package/__init__.py"]
    ended = run(tmp_path / "base", found, READ.format(names=names, home=str(home)), namespaces)
    if contained(ended, "home"):
        assert ended.stdout.split() == ["refused", "refused", "value", "value"]
        assert {f"{home}/helper.py", f"{home}/package"} <= set(ended.isolation["shown"])
        assert "files outside the copy can be written" not in told(ended)


@linux
@both_ways
def test_a_home_in_the_search_path_shows_its_programs_and_nothing_else(
    home: Path, tmp_path: Path, namespaces: bool
) -> None:
    found = laid_out(tmp_path / "base", search=(str(home),))
    code = READ.format(names=[".netrc", "helper.py", "tool"], home=str(home))
    ended = run(tmp_path / "base", found, code, namespaces)
    if contained(ended, "home"):
        assert ended.stdout.split() == ["refused", "refused", "#!/bin/sh"]


def test_a_home_that_is_an_environment_of_python_shows_the_environment(
    home: Path, tmp_path: Path
) -> None:
    (home / "lib").mkdir()
    (home / "pyvenv.cfg").touch()
    found = laid_out(tmp_path / "base", prefixes=(str(home),))
    assert str(home) in found.hidden
    assert str(home) not in found.keep
    assert {str(home / "lib"), str(home / "pyvenv.cfg")} <= set(found.keep)
    assert str(home / "photos") not in found.keep


def test_a_folder_in_the_home_that_is_needed_is_named_in_the_report(
    home: Path, tmp_path: Path
) -> None:
    found = laid_out(tmp_path / "base", (str(home / "package"),))._replace(private=[str(home)])
    ended = run(tmp_path / "base", found, "", True)
    if ended.isolation["home"]:
        assert f"hidden but for {home}/package (" in told(ended)


def test_a_home_that_cannot_be_hidden_is_not_called_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/")
    found = laid_out(tmp_path / "base")
    ended = run(tmp_path / "base", found, "", True)
    assert "the home folder can be read: /" in told(ended)
    assert "home folder is hidden" not in told(ended)
