"""git is asked, and nothing that the repository names is run."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from mpslint.folders import git
from mpslint.folders.git import GitFailed, Repository, Rows
from mpslint.verify import snapshot

IDENTITY = ("-c", "user.name=a", "-c", "user.email=a@b.c")


def plain_git(folder: Path, *arguments: str, check: bool = True) -> str:
    """git as it is, which does what a repository says."""
    ran = subprocess.run(
        ["git", "-C", str(folder), *IDENTITY, *arguments],
        capture_output=True,
        text=True,
        check=check,
        stdin=subprocess.DEVNULL,
    )
    return ran.stdout


def found(folder: Path) -> Repository:
    repository = git.find(str(folder))
    assert repository is not None
    return repository


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """One commit with `train.py` (three rows) and `pkg/model.py`; the second row changed since."""
    folder = tmp_path / "repository"
    (folder / "pkg").mkdir(parents=True)
    plain_git(folder, "init", "-q", "-b", "main")
    (folder / "train.py").write_text("a = 1\nb = 2\nc = 3\n")
    (folder / "pkg" / "model.py").write_text("x = 1\n")
    plain_git(folder, "add", ".")
    plain_git(folder, "commit", "-q", "-m", "one")
    (folder / "train.py").write_text("a = 1\nb = 22\nc = 3\n")
    return folder


class Trap:
    """A program outside the repository that says when it was run."""

    def __init__(self, folder: Path) -> None:
        self.mark = folder / "was-run"
        self.program = folder / "trap"
        self.program.write_text(f"#!/bin/sh\ntouch '{self.mark}'\n")
        self.program.chmod(0o755)

    @property
    def sprung(self) -> bool:
        return self.mark.exists()


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    return Trap(tmp_path)


def empty_of_a_tree(folder: Path) -> None:
    """Take the tree of a folder away, and fold the folder up in the index, so that reading the
    index takes an object that only a remote has."""
    plain_git(folder, "config", "core.repositoryFormatVersion", "1")
    plain_git(folder, "config", "extensions.partialClone", "origin")
    plain_git(folder, "config", "remote.origin.promisor", "true")
    plain_git(folder, "sparse-checkout", "set", "--cone", "--sparse-index", "nothing")
    tree = plain_git(folder, "rev-parse", "HEAD:pkg").strip()
    (folder / ".git" / "objects" / tree[:2] / tree[2:]).unlink()


def monitor(folder: Path, trap: Trap) -> None:
    plain_git(folder, "config", "core.fsmonitor", str(trap.program))


def included_monitor(folder: Path, trap: Trap) -> None:
    (folder / "more.cfg").write_text(f'[core]\n\tfsmonitor = "{trap.program}"\n')
    plain_git(folder, "config", "include.path", "../more.cfg")


def monitor_of_the_work_tree(folder: Path, trap: Trap) -> None:
    plain_git(folder, "config", "extensions.worktreeConfig", "true")
    plain_git(folder, "config", "--worktree", "core.fsmonitor", str(trap.program))


def hook(folder: Path, trap: Trap) -> None:
    (folder / ".git" / "hooks" / "post-index-change").symlink_to(trap.program)
    os.utime(folder / "pkg" / "model.py", (1, 1))


def hooks_elsewhere(folder: Path, trap: Trap) -> None:
    (folder / "hooks").mkdir()
    (folder / "hooks" / "post-index-change").symlink_to(trap.program)
    plain_git(folder, "config", "core.hooksPath", "hooks")
    os.utime(folder / "pkg" / "model.py", (1, 1))


def clean_filter(folder: Path, trap: Trap) -> None:
    (folder / ".gitattributes").write_text("*.py filter=odd.Name\n")
    plain_git(folder, "config", "filter.odd.Name.clean", str(trap.program))
    plain_git(folder, "config", "filter.odd.Name.required", "true")


def filter_process(folder: Path, trap: Trap) -> None:
    (folder / ".git" / "info" / "attributes").write_text("*.py filter=evil\n")
    plain_git(folder, "config", "filter.evil.process", str(trap.program))


def external_diff(folder: Path, trap: Trap) -> None:
    plain_git(folder, "config", "diff.external", str(trap.program))


def diff_driver(folder: Path, trap: Trap) -> None:
    (folder / ".gitattributes").write_text("*.py diff=evil\n")
    plain_git(folder, "config", "diff.evil.command", str(trap.program))


def textconv(folder: Path, trap: Trap) -> None:
    (folder / ".gitattributes").write_text("*.py diff=evil\n")
    plain_git(folder, "config", "diff.evil.textconv", str(trap.program))


def remote_of_a_command(folder: Path, trap: Trap) -> None:
    empty_of_a_tree(folder)
    plain_git(folder, "config", "remote.origin.url", f"ext::{trap.program}")
    plain_git(folder, "config", "protocol.ext.allow", "always")


def remote_over_ssh(folder: Path, trap: Trap) -> None:
    empty_of_a_tree(folder)
    plain_git(folder, "config", "remote.origin.url", "ssh://nobody@localhost/x")
    plain_git(folder, "config", "core.sshCommand", str(trap.program))


def remote_behind_a_proxy(folder: Path, trap: Trap) -> None:
    empty_of_a_tree(folder)
    plain_git(folder, "config", "remote.origin.url", "git://localhost/x")
    plain_git(folder, "config", "core.gitProxy", str(trap.program))


def remote_with_its_own_program(folder: Path, trap: Trap) -> None:
    empty_of_a_tree(folder)
    plain_git(folder, "config", "remote.origin.url", str(folder))
    plain_git(folder, "config", "remote.origin.uploadpack", str(trap.program))


TRAPS: dict[str, tuple[Callable[[Path, Trap], None], tuple[str, ...]]] = {
    "file monitor": (monitor, ("diff-index", "-p", "HEAD")),
    "included file": (included_monitor, ("diff-index", "-p", "HEAD")),
    "setting of a work tree": (monitor_of_the_work_tree, ("diff-index", "-p", "HEAD")),
    "hook": (hook, ("diff", "--quiet")),
    "folder of hooks": (hooks_elsewhere, ("diff", "--quiet")),
    "clean filter": (clean_filter, ("diff-index", "-p", "HEAD")),
    "filter process": (filter_process, ("diff-index", "-p", "HEAD")),
    "external diff": (external_diff, ("diff",)),
    "diff driver": (diff_driver, ("diff",)),
    "text conversion": (textconv, ("diff",)),
    "remote of a command": (remote_of_a_command, ("ls-files",)),
    "remote over ssh": (remote_over_ssh, ("ls-files",)),
    "remote behind a proxy": (remote_behind_a_proxy, ("ls-files",)),
    "program of a remote": (remote_with_its_own_program, ("ls-files",)),
}


def ask_everything(folder: Path) -> None:
    """All that mpslint ever asks, whatever comes of it."""
    repository = found(folder)
    questions: list[Callable[[], object]] = [
        repository.tracked,
        lambda: repository.renamed(repository.merge_base("HEAD")),
        lambda: [*map(repository.content, repository.blobs(repository.commit("HEAD")).values())],
        lambda: repository.changed_rows("a = 1\n", "a = 2\n"),
    ]
    for question in questions:
        with contextlib.suppress(GitFailed):
            question()
    script = str(folder / "train.py")
    root = snapshot.find_root(script)
    snapshot.take(root, script, [], str(folder.parent / "copy"))


@pytest.mark.parametrize(("set_up", "bait"), TRAPS.values(), ids=TRAPS)
def test_nothing_that_a_repository_names_is_run(
    repository: Path, trap: Trap, set_up: Callable[[Path, Trap], None], bait: tuple[str, ...]
) -> None:
    set_up(repository, trap)
    ask_everything(repository)
    assert not trap.sprung
    # The trap is a real one: git by itself walks into it.
    plain_git(repository, *bait, check=False)
    if not trap.sprung:
        pytest.skip("this git does not run it either")


@pytest.mark.parametrize(
    "variables",
    [
        {"GIT_EXTERNAL_DIFF": "{trap}"},
        {
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "core.fsmonitor",
            "GIT_CONFIG_VALUE_0": "{trap}",
        },
        {"GIT_CONFIG_PARAMETERS": "'core.fsmonitor'='{trap}'"},
    ],
    ids=["external diff", "settings", "parameters"],
)
def test_variables_for_git_are_not_passed_on(
    repository: Path, trap: Trap, variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value.format(trap=trap.program))
    ask_everything(repository)
    assert not trap.sprung


def test_a_variable_that_names_another_repository_is_not_passed_on(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    plain_git(other, "init", "-q")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    assert found(repository).tracked() == ["pkg/model.py", "train.py"]


def test_a_git_that_lies_in_the_repository_is_not_the_one_that_is_asked(
    repository: Path, trap: Trap, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository / "git").symlink_to(trap.program)
    monkeypatch.chdir(repository)
    monkeypatch.setenv("PATH", f".:{repository}:{os.environ['PATH']}")
    assert found(repository).tracked() == ["pkg/model.py", "train.py"]
    assert not trap.sprung


def test_a_repository_cannot_name_another_folder_as_its_work_tree(
    repository: Path, tmp_path: Path
) -> None:
    (tmp_path / "private.txt").write_text("secret")
    plain_git(repository, "config", "core.worktree", str(tmp_path))
    script = str(repository / "train.py")
    assert snapshot.find_root(script) == os.path.realpath(repository)
    assert found(repository).tracked() == ["pkg/model.py", "train.py"]


def test_a_folder_that_looks_like_a_repository_is_none(repository: Path, trap: Trap) -> None:
    """HEAD, objects and refs can lie in a folder of any checkout, settings beside them."""
    inner = repository / "inner"
    inner.mkdir()
    plain_git(inner, "init", "-q", "--bare")
    plain_git(inner, "config", "core.fsmonitor", str(trap.program))
    (inner / "train.py").write_text("")
    assert found(inner).top == os.path.realpath(repository)
    ask_everything(inner)
    assert not trap.sprung


def test_a_filter_whose_name_cannot_be_overruled_is_no_answer(repository: Path, trap: Trap) -> None:
    (repository / ".gitattributes").write_text("*.py filter=a=b\n")
    plain_git(repository, "config", "filter.a=b.clean", str(trap.program))
    with pytest.raises(GitFailed, match="a=b"):
        found(repository).renamed("HEAD")
    assert not trap.sprung


def test_a_repository_that_never_answers_ends_at_a_limit(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git, "_SECONDS", 0.5)
    os.mkfifo(repository / "more.cfg")
    plain_git(repository, "config", "include.path", "../more.cfg")
    with pytest.raises(GitFailed, match=r"gave no answer in 0\.5 s"):
        found(repository).tracked()


BEFORE = "a = 1\nb = 2\nc = 3\n"


@pytest.mark.parametrize(
    ("after", "rows"),
    [
        (BEFORE, []),
        ("a = 1\nb = 22\nc = 3\n", [Rows(2, 1)]),
        ("a = 1\nb = 22\nc = 3\nd = 4\ne = 5\n", [Rows(2, 1), Rows(4, 2)]),
        ("a = 1\nc = 3\n", [Rows(1, 0)]),
        ("", [Rows(1, 1)]),
        ("++ b/other.py\n@@ -1 +7 @@\n+++ b/third.py\n", [Rows(1, 3)]),
    ],
    ids=["nothing", "one", "two places", "gone", "all gone", "looks like the header of a patch"],
)
def test_rows_that_changed_are_told(repository: Path, after: str, rows: list[Rows]) -> None:
    assert found(repository).changed_rows(BEFORE, after) == rows


def test_a_file_that_moved_is_known_by_the_name_that_it_had(repository: Path) -> None:
    plain_git(repository, "mv", "train.py", "run.py")
    assert found(repository).renamed("HEAD") == {"run.py": "train.py"}


def test_in_a_hook_the_index_is_the_one_that_is_being_committed(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "index"
    other.write_bytes((repository / ".git" / "index").read_bytes())
    plain_git(repository, "mv", "train.py", "run.py")
    monkeypatch.setenv("GIT_INDEX_FILE", str(other))
    assert found(repository).renamed("HEAD") == {}
    assert found(repository).tracked() == ["pkg/model.py", "train.py"]


@pytest.mark.parametrize(
    "name", ["a b.py", 'quo"te.py', "new\nline.py", "tab\t.py", "ä\\n.py", " b/x.py", "-n.py"]
)
def test_names_of_all_kinds_come_as_they_are(repository: Path, name: str) -> None:
    path = repository / name
    path.parent.mkdir(exist_ok=True)
    plain_git(repository, "mv", "--", "pkg/model.py", name)
    assert found(repository).renamed("HEAD") == {name: "pkg/model.py"}
    assert name in found(repository).tracked()
    plain_git(repository, "commit", "-q", "-m", "two")
    assert name in found(repository).blobs("HEAD")


def test_settings_for_how_a_diff_looks_change_no_answer(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of the user hold outside of any repository, too."""
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(
        "[diff]\nnoprefix = true\ncontext = 3\nmnemonicPrefix = true\n[color]\nui = always\n"
    )
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    assert plain_git(repository, "diff").startswith("\x1b[")
    changed = found(repository).changed_rows(BEFORE, "a = 1\nb = 22\nc = 3\n")
    assert changed == [Rows(2, 1)]


def test_a_base_is_a_commit_and_never_an_option(repository: Path) -> None:
    first = plain_git(repository, "rev-parse", "HEAD").strip()
    plain_git(repository, "commit", "-q", "-a", "-m", "two")
    assert found(repository).commit("HEAD~1") == first
    assert found(repository).merge_base("main") == found(repository).commit("HEAD")
    for name in ("--output=x", "nothing", "", "-h"):
        with pytest.raises(GitFailed, match="names no commit"):
            found(repository).commit(name)
        with pytest.raises(GitFailed, match="names no commit"):
            found(repository).merge_base(name)
    assert not (repository / "x").exists()


def test_without_git_that_is_said(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(GitFailed, match="git is not installed"):
        found(repository).tracked()


def test_a_file_outside_any_repository_has_none(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    assert git.find(str(tmp_path / "a.py")) is None
