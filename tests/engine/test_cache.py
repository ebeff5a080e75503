"""The cache saves work and never changes a result."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from conftest import CUDA_ONLY, PORTABLE, Cli

import mpslint.linter
import mpslint.runner
from mpslint.cache import FOLDER

YEAR = 365 * 86400


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Which files were read and which were linted."""
    done: dict[str, list[str]] = {"read": [], "linted": []}
    read, lint = mpslint.runner.read_bytes, mpslint.linter.lint

    def counted_read(path: str) -> bytes:
        done["read"].append(path)
        return read(path)

    def counted_lint(source: object, *rest: object, **more: object) -> object:
        done["linted"].append(source.path)  # type: ignore[attr-defined]
        return lint(source, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(mpslint.runner, "read_bytes", counted_read)
    monkeypatch.setattr(mpslint.linter, "lint", counted_lint)
    return done


@pytest.fixture
def files(project: Path) -> Path:
    """Three files that were last changed long ago."""
    for name, text in (("a.py", CUDA_ONLY), ("b.py", PORTABLE), ("c.py", "x = 1\n")):
        (project / name).write_text(text, encoding="utf-8")
        age(project / name)
    return project


def age(path: Path, seconds: int = YEAR) -> None:
    then = path.stat().st_mtime - seconds
    os.utime(path, (then, then))


def test_a_warm_run_reads_no_file_and_prints_the_same(
    cli: Cli, files: Path, work: dict[str, list[str]]
) -> None:
    cold = cli("check")
    assert (work["read"], work["linted"]) == (["a.py", "b.py", "c.py"], ["a.py", "b.py"])
    work["read"].clear()
    work["linted"].clear()
    warm = cli("check")
    assert warm == cold
    assert work == {"read": [], "linted": []}


@pytest.mark.parametrize("style", ["json", "full", "concise", "github"])
def test_each_format_prints_the_same_from_the_cache(cli: Cli, files: Path, style: str) -> None:
    fresh = cli("check", "--no-cache", "--output-format", style)
    assert not (files / FOLDER).exists()
    cli("check", "--output-format", "concise")
    assert cli("check", "--output-format", style) == fresh
    assert cli("check", "--output-format", style) == fresh


def test_a_touched_file_is_read_but_not_linted_again(
    cli: Cli, files: Path, work: dict[str, list[str]]
) -> None:
    cold = cli("check")
    age(files / "a.py", 5)
    work["read"].clear()
    work["linted"].clear()
    assert cli("check") == cold
    assert work == {"read": ["a.py"], "linted": []}


def test_a_changed_file_is_linted_again(cli: Cli, files: Path, work: dict[str, list[str]]) -> None:
    cli("check")
    work["linted"].clear()
    (files / "a.py").write_text(PORTABLE, encoding="utf-8")
    assert cli("check").code == 0
    assert work["linted"] == ["a.py"]


def test_a_file_changed_within_the_clocks_tick_is_not_taken_for_the_old_one(
    cli: Cli, project: Path
) -> None:
    path = project / "a.py"
    path.write_text(CUDA_ONLY, encoding="utf-8")
    stamp = path.stat().st_mtime_ns
    assert cli("check").code == 1
    path.write_text(CUDA_ONLY.replace("cuda.synchronize", "zuda.synchronize"), encoding="utf-8")
    os.utime(path, ns=(stamp, stamp))
    assert cli("check").code == 0


def test_other_settings_are_another_cache(cli: Cli, files: Path) -> None:
    assert cli("check").code == 1
    assert cli("check", "--ignore", "MPS201").code == 0
    (files / "mpslint.toml").write_text('ignore = ["MPS201"]\n')
    assert cli("check").code == 0


def test_a_rule_edited_on_the_disk_is_another_cache(
    cli: Cli, files: Path, monkeypatch: pytest.MonkeyPatch, work: dict[str, list[str]]
) -> None:
    cli("check")
    work["linted"].clear()
    monkeypatch.setattr("mpslint.cache._own_state", lambda: "another state of mpslint")
    cli("check")
    assert work["linted"] == ["a.py", "b.py"]


def test_a_file_named_outright_is_parsed_although_the_walk_left_it_unparsed(
    cli: Cli, project: Path
) -> None:
    (project / "broken.py").write_text("def f(:\n")
    age(project / "broken.py")
    assert cli("check").code == 0
    assert cli("check", "broken.py").code == 2
    assert cli("check", "broken.py").code == 2


def test_fixing_uses_the_cache_and_leaves_it_right(cli: Cli, files: Path) -> None:
    cli("check")
    assert cli("fix", "--no-verify").code == 0
    assert (files / "a.py").read_text() == PORTABLE
    assert cli("check").out == "All checks passed!\n"


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", '{"a.py": 1}', '{"a.py": [1, 2]}', '{"a.py": [0, 0, "", 3, [[1]], null]}'],
)
def test_a_broken_cache_costs_time_and_no_result(cli: Cli, files: Path, content: str) -> None:
    cold = cli("check")
    for path in (files / FOLDER).glob("*.json"):
        path.write_text(content)
    assert cli("check") == cold
    assert cli("check") == cold


def test_an_entry_with_records_of_another_shape_is_not_used(cli: Cli, files: Path) -> None:
    cold = cli("check")
    for path in (files / FOLDER).glob("*.json"):
        entries = json.loads(path.read_text())
        entries["a.py"][4] = [["MPS201", "short"]]
        path.write_text(json.dumps(entries))
    assert cli("check") == cold


def refuse(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("step", ["os.replace", "os.makedirs"])
def test_a_cache_that_cannot_be_written_costs_nothing_else(
    cli: Cli, files: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    fresh = cli("check", "--no-cache")
    monkeypatch.setattr(step, refuse)
    assert cli("check") == fresh
    rubbish = list((files / FOLDER).glob("*.tmp")) if (files / FOLDER).exists() else []
    assert rubbish == []


def test_two_processes_keep_each_others_entries(cli: Cli, files: Path) -> None:
    from mpslint.cache import Cache
    from mpslint.discovery import Target
    from mpslint.results import FileResult
    from mpslint.settings import Settings

    settings = Settings(root=str(files))
    one, other = Cache(settings), Cache(settings)
    for cache, name in ((one, "a.py"), (other, "b.py")):
        target, status = Target(str(files / name), settings, False), (files / name).stat()
        cache.store(target, status, 2**62, "digest", FileResult(target.path), with_fixes=False)
        cache.save()
    both = Cache(settings)
    for name in ("a.py", "b.py"):
        target = Target(str(files / name), settings, False)
        assert both.by_stat(target, (files / name).stat(), with_fixes=False) is not None


def test_the_number_of_kept_settings_is_bounded(
    cli: Cli, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mpslint.cache._MAX_FILES", 3)
    for number in range(6):
        cli("check", "--device-name", f"device{number}")
    assert len(list((files / FOLDER).glob("*.json"))) == 3


def test_the_number_of_entries_is_bounded(
    cli: Cli, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mpslint.cache._MAX_ENTRIES", 2)
    cli("check")
    (cache,) = (files / FOLDER).glob("*.json")
    assert list(json.loads(cache.read_text())) == ["b.py", "c.py"]


def test_the_cache_ignores_itself_for_git_and_clean_removes_it(cli: Cli, files: Path) -> None:
    cli("check")
    assert (files / FOLDER / ".gitignore").read_text() == "*\n"
    assert cli("clean").out == f"removed ./{FOLDER}\n"
    assert not (files / FOLDER).exists()
    assert cli("clean") == (0, "", "")


def test_clean_removes_no_folder_that_only_has_the_name(cli: Cli, files: Path) -> None:
    (files / FOLDER).mkdir()
    (files / FOLDER / "precious.txt").write_text("mine")
    cli("clean")
    assert (files / FOLDER / "precious.txt").read_text() == "mine"
