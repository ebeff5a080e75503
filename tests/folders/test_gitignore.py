"""Ignore files mean here what they mean to git."""

from __future__ import annotations

import re
import subprocess
from itertools import product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mpslint.folders.discovery import targets
from mpslint.settings.file import SettingsFinder

NAMES = ("a", "b", "ab", "a]b", "a-b", "!a", "#b", "a b", "B", "a\\", "[a", "a*")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of folders and files with names that patterns trip over."""
    folder = tmp_path_factory.mktemp("tree")
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    for parts in [*product(NAMES), *product(NAMES[:6], NAMES[:4]), *product("ab", "ab", "ab")]:
        path = folder.joinpath("x", *parts).with_name(f"{parts[-1]}.py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    return folder


def walked(folder: Path) -> set[str]:
    finder = SettingsFinder(isolated=True)
    paths = [target.path for target in targets([str(folder)], finder, lambda line: None)]
    return {str(Path(path).relative_to(folder)) for path in paths}


def untracked(folder: Path) -> set[str]:
    command = ["git", "-c", "core.excludesFile=", "ls-files", "-z", "--others"]
    command += ["--exclude-standard", "--", "*.py"]
    said = subprocess.run(command, check=True, capture_output=True, cwd=folder).stdout
    return {name.decode() for name in said.split(b"\0") if name}


PIECES = ["*", "**", "?", "/", "**/", "/**", "a", "b", "x", "[ab]", "[!a]", "[^a]", "[a-b]", "[]]",
          "[]-a]", "[a", "[[:alpha:]]", "[[:upper:]]", "[[:nope:]]", "[[a:]b]", "[\\]]", "[a/b]",
          "\\", "\\a", "\\*", "!", "#", " ", "-", "]", ".py", ".p?", "\t", "\r"]  # fmt: skip
# git takes `x**/a` for `x/**/a` where its page says otherwise, and has a mind of its own about a
# slash behind a backslash: that is not asked.
LINES = (
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=6)
    .map("".join)
    .filter(lambda line: not re.search(r"[^/*]\*\*|\\/", line.removeprefix("!")))
)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(LINES, min_size=1, max_size=3))
@example(["x/a/**", "!x/a/b.py"])
@example(["**/a", "!a"])
@example(["a/**/b.py", "/x/*/b/"])
@example(["*.py", "!a*.py", "!/x/b.py"])
@example(["\\!a.py", "\\#b.py", "a b.py  ", "a\\ "])
@example(["[a", "a\\", "\\", "/", "!", "//", "x//a"])
@example(["***/a.py", "x/**b/*", "x**a"])
@example(["a.py\r", "\ufeffb.py", "b.py\\ \r"])
@example(["\ufeffb.py"])
def test_what_is_left_out_is_what_git_leaves_out(tree: Path, lines: list[str]) -> None:
    (tree / ".gitignore").write_bytes("\n".join(lines).encode())
    assert walked(tree) == untracked(tree)


def test_everything_in_a_folder_that_is_left_out_is_left_out(tree: Path) -> None:
    (tree / ".gitignore").write_text("/x/a/\n!b.py\n")
    assert walked(tree / "x" / "a") == set()
    assert walked(tree / "x" / "a" / "b") == set()
    assert walked(tree / "x" / "b") != set()
