"""A release is one command, and no page names a tag that is not there."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
TODAY = "2027-01-02"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("release", ROOT / "docs" / "release.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def git(root: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    ran = subprocess.run(
        ["git", *identity, *arguments], cwd=root, capture_output=True, text=True, check=True
    )
    return ran.stdout.strip()


@pytest.fixture
def clone(tmp_path: Path, script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of the files that a release changes, as they are."""
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "a")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "a@example.org")
    for name in (script.CHANGELOG, script.CODE, *script.RECIPES):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((ROOT / name).read_bytes())
    changelog = tmp_path / script.CHANGELOG
    text = changelog.read_text(encoding="utf-8")
    changelog.write_text(f"# Changelog\n\n## 7.8.9 (unreleased)\n\n{text}", encoding="utf-8")
    git(tmp_path, "init", "--quiet", "--initial-branch", "main")
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "--message", "before")
    return tmp_path


def tags_named(root: Path) -> set[str]:
    """The tags that the pages of a repository tell people to use."""
    text = "".join(
        path.read_text(encoding="utf-8")
        for path in (*root.glob("*.md"), *root.glob("docs/**/*.md"))
        if "comparison" not in path.name
    )
    return set(re.findall(r"(?:mpslint@|\brev: )(v[\w.]+)", text))


def test_no_page_names_a_tag_of_what_is_not_released() -> None:
    headings = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released = {f"v{found}" for found in re.findall(r"^## (\S+) \(\d{4}-", headings, re.MULTILINE)}
    assert tags_named(ROOT) <= released


def test_a_release_is_one_commit_whose_tag_the_pages_name(clone: Path, script: ModuleType) -> None:
    told = script.release(clone, "7.8.9", TODAY)
    assert "git push --atomic origin main v7.8.9" in told
    assert tags_named(clone) == {"v7.8.9"}
    assert git(clone, "rev-parse", "v7.8.9^{commit}") == git(clone, "rev-parse", "HEAD")
    assert git(clone, "rev-list", "--count", "HEAD") == "2"
    assert git(clone, "status", "--porcelain") == ""
    assert f"## 7.8.9 ({TODAY})" in (clone / script.CHANGELOG).read_text(encoding="utf-8")
    assert '"7.8.9"' in (clone / script.CODE).read_text(encoding="utf-8")
    assert "COMMIT" not in (clone / "docs" / "ci.md").read_text(encoding="utf-8")


def test_the_release_after_it_moves_the_recipes_on(clone: Path, script: ModuleType) -> None:
    script.release(clone, "7.8.9", TODAY)
    changelog = clone / script.CHANGELOG
    text = changelog.read_text(encoding="utf-8")
    changelog.write_text(f"## 8.0.0 (unreleased)\n\n{text}", encoding="utf-8")
    git(clone, "commit", "--quiet", "--all", "--message", "more")
    script.release(clone, "8.0.0", TODAY)
    assert tags_named(clone) == {"v8.0.0"}


@pytest.mark.parametrize(
    ("version", "why"),
    [
        ("", "is no version such as"),
        ("v7.8.9", "is no version such as"),
        ("9.9.9", "has no heading"),
    ],
)
def test_what_is_no_release_is_refused_and_changes_nothing(
    clone: Path, script: ModuleType, version: str, why: str
) -> None:
    with pytest.raises(script.Refused, match=why):
        script.release(clone, version, TODAY)
    assert git(clone, "status", "--porcelain") == ""
    assert git(clone, "tag") == ""


def test_nothing_is_released_twice_from_a_branch_or_with_changes(
    clone: Path, script: ModuleType
) -> None:
    (clone / "new.py").touch()
    with pytest.raises(script.Refused, match="commit what has changed"):
        script.release(clone, "7.8.9", TODAY)
    (clone / "new.py").unlink()
    git(clone, "checkout", "--quiet", "-b", "other")
    with pytest.raises(script.Refused, match="on main, not on other"):
        script.release(clone, "7.8.9", TODAY)
    git(clone, "checkout", "--quiet", "main")
    git(clone, "tag", "v7.8.9")
    with pytest.raises(script.Refused, match="there already"):
        script.release(clone, "7.8.9", TODAY)
