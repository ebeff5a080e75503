"""Which files a walk takes up, and which it leaves."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from mpslint.folders.discovery import NoSuchPath, targets
from mpslint.settings.file import SettingsFinder


def make(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("import torch\n", encoding="utf-8")


def found(*paths: str, overrides: dict[str, object] | None = None) -> list[str]:
    warnings: list[str] = []
    finder = SettingsFinder(overrides)
    files = [target.path for target in targets(paths or (".",), finder, warnings.append)]
    assert [line for line in warnings if "no Python file" not in line] == []
    return files


def test_python_files_come_in_order_of_name_and_nothing_else_does(project: Path) -> None:
    make(project, "b.py", "a/z.py", "a/b/c.py", "readme.md", "script", "stub.pyi")
    assert found() == ["b.py", "a/z.py", "a/b/c.py"]


def test_folders_of_tools_and_environments_are_left_out(project: Path) -> None:
    make(project, ".venv/a.py", "build/a.py", ".git/a.py", "node_modules/a.py")
    make(project, ".history/src/a_20221021013204.py", ".idea/a.py", "src/a.py")
    assert found() == ["src/a.py"]


def test_a_path_named_outright_is_taken_even_where_it_is_excluded(project: Path) -> None:
    make(project, "build/a.py", "script")
    assert found("build/a.py", "script") == ["build/a.py", "script"]
    assert found("build") == ["build/a.py"]


def test_force_exclude_leaves_out_what_is_named_too(project: Path) -> None:
    make(project, "build/a.py", "a.py")
    overrides: dict[str, object] = {"force_exclude": True}
    assert found("build/a.py", "a.py", overrides=overrides) == ["a.py"]
    assert found("build", overrides=overrides) == []


def test_a_file_named_twice_comes_once(project: Path) -> None:
    make(project, "a/b.py")
    assert found("a/b.py", "a", "./a/../a/b.py") == ["a/b.py"]


@pytest.mark.parametrize("pattern", ["old", "src/old", "src/old/*", "src/old/**", "src/o*"])
def test_exclude_takes_names_and_paths_and_globs(project: Path, pattern: str) -> None:
    make(project, "src/old/a.py", "src/new/a.py")
    (project / "mpslint.toml").write_text(f'extend-exclude = ["{pattern}"]\n')
    assert found() == ["src/new/a.py"]


def test_the_settings_of_each_file_are_those_of_its_folder(project: Path) -> None:
    make(project, "a.py", "sub/b.py")
    (project / "sub" / "mpslint.toml").write_text('device-name = "dev"\n')
    names = {t.path: t.settings.device_name for t in targets(["."], SettingsFinder(), print)}
    assert names == {"a.py": "device", "sub/b.py": "dev"}


def test_gitignore_files_hold_for_what_lies_below_them(project: Path) -> None:
    make(project, "a.py", "gen/a.py", "sub/gen.py", "sub/keep.py", "sub/deep/gen.py", "x_pb2.py")
    (project / ".gitignore").write_text("gen/\n*_pb2.py\n")
    (project / "sub" / ".gitignore").write_text("gen.py\n!keep.py\n")
    assert found() == ["a.py", "sub/keep.py"]


def test_a_nearer_gitignore_takes_back_what_a_farther_one_says(project: Path) -> None:
    make(project, "sub/kept.py", "lost.py")
    (project / ".gitignore").write_text("*.py\n")
    (project / "sub" / ".gitignore").write_text("!kept.py\n")
    assert found() == ["sub/kept.py"]


def test_the_repositorys_gitignore_holds_when_a_folder_of_it_is_named(project: Path) -> None:
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    make(project, "sub/gen.py", "sub/kept.py", "sub/local.py")
    (project / ".gitignore").write_text("gen.py\n")
    (project / ".git" / "info").mkdir(exist_ok=True)
    (project / ".git" / "info" / "exclude").write_text("local.py\n")
    assert found("sub") == ["sub/kept.py"]


def test_what_is_walked_is_what_git_would_add(project: Path) -> None:
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    make(project, "a.py", "x/y/a.py", "x/a1.py", "x/a2.py", "z/b.py", "z/c/b.py", "w/q.py")
    (project / ".gitignore").write_text("/x/y\n# comment\nx/a?.py\n!x/a2.py\nz/**/b.py\n/q.py\n")
    command = ["git", "ls-files", "--others", "--exclude-standard", "*.py"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True)
    assert sorted(found()) == sorted(listed.stdout.split())


def test_gitignore_can_be_disregarded(project: Path) -> None:
    make(project, "gen.py")
    (project / ".gitignore").write_text("gen.py\n")
    assert found() == []
    assert found(overrides={"respect_gitignore": False}) == ["gen.py"]


def test_a_loop_of_symlinks_ends(project: Path) -> None:
    make(project, "a/b.py")
    os.symlink("..", project / "a" / "loop")
    os.symlink("self", project / "a" / "self")
    assert found() == ["a/b.py"]


def test_a_symlink_to_a_file_counts_once_with_the_file(project: Path) -> None:
    make(project, "real.py", "elsewhere/other")
    os.symlink("real.py", project / "link.py")
    os.symlink("elsewhere/other", project / "link2.py")
    assert found() == ["real.py", "link2.py"]


def test_a_folder_that_cannot_be_listed_is_a_warning_and_the_walk_goes_on(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(project, "closed/a.py", "open/b.py")
    real = os.scandir

    def refuse(path: str) -> object:
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", refuse)
    warnings: list[str] = []
    files = [t.path for t in targets(["."], SettingsFinder(), warnings.append)]
    assert files == ["open/b.py"]
    assert warnings == ["closed: cannot be listed: permission denied"]


def test_a_path_that_is_not_there_is_an_error(project: Path) -> None:
    with pytest.raises(NoSuchPath, match=r"absent\.py: no such file or folder"):
        found("absent.py")
