"""`--diff-base` reports what changed lines bring, and git runs nothing of the repository."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from conftest import CUDA_ONLY, Cli

OLD = "import torch\n\n\ndef first(x):\n    return x.cuda()\n"
NEW = "\n\ndef second(y):\n    return y.cuda()\n"


def git(*arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    subprocess.run(["git", *identity, *arguments], check=True, capture_output=True)


def commit(message: str) -> None:
    git("add", "-A")
    git("commit", "-q", "-m", message)


@pytest.fixture
def model(project: Path) -> Path:
    """A committed file with one finding, on the branch `main`."""
    git("init", "-q", "-b", "main")
    path = project / "model.py"
    path.write_text(OLD)
    commit("old")
    return path


def rows(cli: Cli, *arguments: str, ref: str = "main") -> list[tuple[str, int]]:
    ran = cli("check", "--diff-base", ref, "--output-format=json", *arguments)
    assert ran.err == ""
    return [(Path(r["filename"]).name, r["location"]["row"]) for r in json.loads(ran.out)]


def test_an_unchanged_file_brings_nothing(cli: Cli, model: Path) -> None:
    assert rows(cli) == []
    assert cli("check").code == 1


@pytest.mark.parametrize("state", ["unstaged", "staged", "committed"])
def test_a_changed_line_brings_its_finding(cli: Cli, model: Path, state: str) -> None:
    git("switch", "-q", "-c", "branch")
    model.write_text(OLD + NEW)
    if state != "unstaged":
        git("add", ".")
    if state == "committed":
        commit("new")
    assert rows(cli) == [("model.py", 9)]


def test_lines_that_move_bring_nothing(cli: Cli, model: Path) -> None:
    model.write_text(f"'''A head.'''\n\n{OLD}")
    assert rows(cli) == []


def test_what_the_base_has_changed_since_is_not_ours(cli: Cli, model: Path) -> None:
    git("switch", "-q", "-c", "branch")
    git("switch", "-q", "main")
    model.write_text(OLD.replace("return x.cuda()", "return x.cpu()"))
    commit("theirs")
    git("switch", "-q", "branch")
    assert rows(cli) == []


def test_a_file_that_git_does_not_know_is_all_new(cli: Cli, model: Path) -> None:
    (model.parent / "fresh.py").write_text(OLD)
    assert rows(cli) == [("fresh.py", 5)]


def test_a_renamed_file_brings_its_changed_lines_alone(cli: Cli, model: Path) -> None:
    git("mv", "model.py", "net.py")
    Path("net.py").write_text(OLD + NEW)
    assert rows(cli) == [("net.py", 9)]


def test_a_finding_over_several_lines_is_brought_by_any_of_them(cli: Cli, model: Path) -> None:
    text = OLD.replace("x.cuda()", "torch.zeros(\n        1,\n    ).to(\n        'cuda'\n    )")
    model.write_text(text)
    commit("long")
    model.write_text(text.replace("'cuda'", "'cuda:0'"))
    assert len(rows(cli, ref="HEAD")) == 1


def test_a_checkout_with_other_newlines_is_no_change(cli: Cli, model: Path) -> None:
    model.write_bytes(OLD.replace("\n", "\r\n").encode())
    assert rows(cli) == []


def test_many_lines_that_read_alike_are_told_apart(cli: Cli, model: Path) -> None:
    line = "    y = x.cuda()\n"
    body = "import torch\n\n\ndef f(x):\n" + line * 300
    model.write_text(body)
    commit("many")
    model.write_text(body + line)
    assert len(rows(cli, ref="HEAD")) == 1


def test_the_changed_lines_of_a_notebook_are_those_of_its_cells(cli: Cli, model: Path) -> None:
    def book(*cells: str) -> str:
        made = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": c} for c in cells]
        return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})

    old, new = "def f(x):\n    return x.cuda()\n", "def g(y): return y.cuda()\n"
    calls = "f(torch.ones(2))\n"
    Path("book.ipynb").write_text(book("import torch", old, calls))
    commit("book")
    changed = book("import torch", "z = 1", old + new, calls + "g(torch.ones(2))")
    Path("book.ipynb").write_text(changed)
    ran = cli("check", "--diff-base", "HEAD", "--output-format=json", "book.ipynb")
    assert [(r["cell"], r["location"]["row"]) for r in json.loads(ran.out)] == [(3, 3)]


def test_fix_changes_the_changed_lines_alone(cli: Cli, model: Path) -> None:
    model.write_text(OLD + NEW)
    cli("fix", "--no-verify", "--diff-base", "main")
    text = model.read_text()
    assert "return x.cuda()" in text
    assert "return y.to(device)" in text


def test_it_works_from_a_folder_below_the_top(
    cli: Cli, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("sub").mkdir()
    Path("sub/a.py").write_text(OLD)
    commit("sub")
    Path("sub/a.py").write_text(OLD + NEW)
    monkeypatch.chdir("sub")
    assert rows(cli, ref="HEAD") == [("a.py", 9)]


@pytest.mark.parametrize("ref", ["absent", "--output=evil", "-h", ""])
def test_a_ref_that_is_none_is_one_line(cli: Cli, model: Path, ref: str) -> None:
    ran = cli("check", f"--diff-base={ref}")
    assert ran.code == 2
    assert ran.err.startswith(f"error: {ref!r} names no commit of ")
    assert ran.err.count("\n") == 1
    assert not Path("evil").exists()


def test_without_a_repository_that_is_said(cli: Cli, project: Path) -> None:
    (project / "a.py").write_text(CUDA_ONLY)
    ran = cli("check", "--diff-base", "main")
    assert ran.code == 2
    assert ": in no git repository" in ran.err


def test_a_history_that_is_too_short_is_said(cli: Cli, model: Path) -> None:
    git("switch", "-q", "--orphan", "other")
    model.write_text(OLD)
    commit("unrelated")
    ran = cli("check", "--diff-base", "main")
    assert ran.code == 2
    assert "have no commit in common" in ran.err
    assert "fetch-depth: 0" in ran.err


def test_nothing_that_the_repository_names_is_run(cli: Cli, model: Path) -> None:
    spy = Path("spy.sh").absolute()
    spy.write_text(f'#!/bin/sh\necho "$0 $@" >> {Path.cwd()}/ran\ncat\n')
    spy.chmod(0o755)
    Path(".gitattributes").write_text("*.py filter=spy diff=spy merge=spy\n")
    for key in (
        "core.fsmonitor",
        "core.pager",
        "core.editor",
        "core.sshCommand",
        "core.askPass",
        "diff.external",
        "diff.spy.command",
        "diff.spy.textconv",
        "filter.spy.clean",
        "filter.spy.smudge",
        "filter.spy.process",
        "pager.diff",
        "alias.diff",
        "alias.ls-tree",
    ):
        git("config", key, f"!{spy}" if key.startswith("alias") else str(spy))
    hooks = Path("hooks")
    hooks.mkdir()
    for name in ("post-index-change", "reference-transaction", "pre-commit", "post-checkout"):
        (hooks / name).symlink_to(spy)
    git("config", "core.hooksPath", str(hooks.absolute()))
    model.write_text(OLD + NEW)
    os.utime(model)
    assert rows(cli, "model.py", ref="HEAD") == [("model.py", 9)]
    assert not Path("ran").exists()
    # The spy is no dummy: git itself runs it.
    subprocess.run(["git", "diff", "--stat"], capture_output=True)
    assert Path("ran").exists()


def test_a_program_called_git_in_the_folder_is_not_run(
    cli: Cli, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = Path("git")
    fake.write_text("#!/bin/sh\ntouch ran\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f".:{os.environ['PATH']}")
    assert rows(cli, "model.py") == []
    assert not Path("ran").exists()


def test_an_object_that_was_left_out_of_a_clone_is_not_fetched(cli: Cli, model: Path) -> None:
    spy = Path("spy.sh").absolute()
    spy.write_text(f"#!/bin/sh\ntouch {Path.cwd()}/ran\nexit 1\n")
    spy.chmod(0o755)
    blob = subprocess.run(
        ["git", "rev-parse", "HEAD:model.py"], capture_output=True, text=True, check=True
    ).stdout.strip()
    Path(".git/objects", blob[:2], blob[2:]).unlink()
    git("config", "core.repositoryFormatVersion", "1")
    git("config", "extensions.partialClone", "origin")
    git("config", "remote.origin.url", f"ext::{spy}")
    git("config", "remote.origin.promisor", "true")
    git("config", "protocol.ext.allow", "always")
    model.write_text(OLD + NEW)
    ran = cli("check", "--diff-base", "HEAD", "model.py")
    assert ran.code == 2
    assert "git cat-file failed" in ran.err
    assert not Path("ran").exists()
