"""The cache saves work and never changes a result."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from conftest import CUDA_ONLY, PORTABLE, Cli

import mpslint.checking.linter
import mpslint.running.runner
from mpslint.folders import cache_folder as folders
from mpslint.running.cache import digest_of, packed, unpacked

YEAR = 365 * 86400


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Which files were read and which were linted."""
    done: dict[str, list[str]] = {"read": [], "linted": []}
    read, linted = mpslint.running.runner.read_bytes, mpslint.checking.linter.linted

    def counted_read(path: str, limit: int) -> bytes:
        done["read"].append(path)
        return read(path, limit)

    def counted_linted(source: object, *rest: object, **more: object) -> object:
        done["linted"].append(source.path)  # type: ignore[attr-defined]
        return linted(source, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(mpslint.running.runner, "read_bytes", counted_read)
    monkeypatch.setattr(mpslint.checking.linter, "linted", counted_linted)
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
def test_each_format_prints_the_same_from_the_cache(
    cli: Cli, files: Path, style: str, cache_folder: Path
) -> None:
    fresh = cli("check", "--no-cache", "--output-format", style)
    assert not cache_folder.exists()
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
    monkeypatch.setattr("mpslint.running.cache._own_state", lambda: "another state of mpslint")
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
def test_a_broken_cache_costs_time_and_no_result(
    cli: Cli, files: Path, content: str, cache_folder: Path
) -> None:
    cold = cli("check")
    for path in cache_folder.glob("*.json"):
        path.write_text(content)
    assert cli("check") == cold
    assert cli("check") == cold
    for path in cache_folder.glob("*.json"):
        path.write_text(f"{digest_of(content.encode())}\n{content}")
    assert cli("check") == cold


@pytest.mark.parametrize("of", [b"MPS201", b"raises", b'"row', b":", b"[3,", b"1"])
def test_a_cache_in_which_a_byte_has_changed_is_not_believed(
    cli: Cli, files: Path, of: bytes, cache_folder: Path
) -> None:
    cold = cli("check")
    (path,) = cache_folder.glob("*.json")
    data = path.read_bytes()
    at = data.find(of, data.index(b"\n"))
    if at < 0:
        at = len(data) // 2
    path.write_bytes(data[:at] + b"4" + data[at + 1 :])
    assert cli("check") == cold


def test_an_entry_with_records_of_another_shape_is_not_used(
    cli: Cli, files: Path, cache_folder: Path
) -> None:
    cold = cli("check")
    for path in cache_folder.glob("*.json"):
        entries = unpacked(path.read_bytes())
        entries["a.py"][4] = [["MPS201", "short"]]
        path.write_bytes(packed(entries))
    assert cli("check") == cold


def refuse(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("step", ["os.replace", "os.makedirs"])
def test_a_cache_that_cannot_be_written_costs_nothing_else(
    cli: Cli, files: Path, monkeypatch: pytest.MonkeyPatch, step: str, cache_folder: Path
) -> None:
    fresh = cli("check", "--no-cache")
    monkeypatch.setattr(step, refuse)
    assert cli("check") == fresh
    rubbish = list(cache_folder.glob("*.tmp")) if cache_folder.exists() else []
    assert rubbish == []


def test_two_processes_keep_each_others_entries(cli: Cli, files: Path) -> None:
    from mpslint.findings.results import FileResult
    from mpslint.folders.discovery import Target
    from mpslint.running.cache import Caches
    from mpslint.settings.settings import Settings

    settings = Settings(root=str(files))
    one, other = Caches(), Caches()
    for caches, name in ((one, "a.py"), (other, "b.py")):
        target, status = Target(str(files / name), settings, False), (files / name).stat()
        result = FileResult(target.path)
        caches.of(settings).store(target, status, 2**62, "digest", result, with_fixes=False)
    one.save()
    other.save()
    both = Caches().of(settings)
    for name in ("a.py", "b.py"):
        target = Target(str(files / name), settings, False)
        assert both.by_stat(target, (files / name).stat(), with_fixes=False) is not None


def test_the_number_of_kept_settings_is_bounded(
    cli: Cli, files: Path, monkeypatch: pytest.MonkeyPatch, cache_folder: Path
) -> None:
    monkeypatch.setattr(folders, "_MAX_FILES", 3)
    for number in range(6):
        cli("check", "--device-name", f"device{number}")
    assert len(list(cache_folder.glob("*.json"))) == 3


def test_the_number_of_entries_is_bounded(
    cli: Cli, files: Path, monkeypatch: pytest.MonkeyPatch, cache_folder: Path
) -> None:
    monkeypatch.setattr("mpslint.running.cache._MAX_ENTRIES", 2)
    cli("check")
    (cache,) = cache_folder.glob("*.json")
    assert list(unpacked(cache.read_bytes())) == ["b.py", "c.py"]


def test_clean_removes_the_cache_and_nothing_else(
    cli: Cli, files: Path, cache_folder: Path
) -> None:
    cli("check")
    (cache_folder / "precious.json").write_text("mine")
    assert cli("clean").out == f"removed {cache_folder}\n"
    assert [path.name for path in cache_folder.iterdir() if path.suffix == ".json"] == [
        "precious.json"
    ]
    (cache_folder / "precious.json").unlink()
    assert cli("clean").code == 0
    assert not cache_folder.exists()
    assert cli("clean") == (0, "", "")


def test_projects_with_the_same_settings_do_not_share_what_was_found(
    cli: Cli, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    then = (files / "a.py").stat()
    (files / "other").mkdir()
    (files / "other" / "a.py").write_text("#" * (then.st_size - 1) + "\n")
    os.utime(files / "other" / "a.py", ns=(then.st_mtime_ns, then.st_mtime_ns))
    assert cli("check", "a.py").code == 1
    monkeypatch.chdir(files / "other")
    assert cli("check", "a.py").code == 0


class TestWhoseFolder:
    """The cache is the user's, alone."""

    def test_a_project_that_is_looked_at_is_not_written_to(self, cli: Cli, files: Path) -> None:
        before = sorted(files.rglob("*"))
        assert cli("check").code == 1
        assert sorted(files.rglob("*")) == before

    def test_what_a_project_brings_is_neither_believed_nor_touched(
        self, cli: Cli, files: Path, cache_folder: Path
    ) -> None:
        """A cache that says of every file that nothing is wrong with it, in a link to elsewhere."""
        fresh = cli("check")
        victim = files.parent / "victim"
        shutil.copytree(cache_folder, victim)
        for path in victim.glob("*.json"):
            entries = unpacked(path.read_bytes())
            path.write_bytes(packed({name: [*e[:4], [], *e[5:]] for name, e in entries.items()}))
        for number in range(200):
            (victim / f"{number}.json").write_text("")
        shutil.rmtree(cache_folder)
        (files / ".mpslint_cache").symlink_to(victim)
        before = {path.name: path.stat().st_mtime_ns for path in victim.iterdir()}
        assert cli("check") == fresh
        assert cli("clean").code == 0
        assert {path.name: path.stat().st_mtime_ns for path in victim.iterdir()} == before

    def poison(self, folder: Path) -> None:
        """Let every entry say that nothing was found."""
        for path in folder.glob("*.json"):
            entries = unpacked(path.read_bytes())
            path.write_bytes(packed({name: [*e[:4], [], *e[5:]] for name, e in entries.items()}))

    def test_a_link_is_not_the_folder(self, cli: Cli, files: Path, cache_folder: Path) -> None:
        fresh = cli("check")
        elsewhere = cache_folder.with_name("elsewhere")
        cache_folder.rename(elsewhere)
        self.poison(elsewhere)
        cache_folder.symlink_to(elsewhere)
        before = {path.name: path.stat().st_mtime_ns for path in elsewhere.iterdir()}
        assert cli("check") == fresh
        assert {path.name: path.stat().st_mtime_ns for path in elsewhere.iterdir()} == before
        assert cli("clean") == (0, "", "")

    @pytest.mark.parametrize("mode", [0o777, 0o720, 0o702])
    def test_a_folder_that_others_may_write_to_is_not_used(
        self, cli: Cli, files: Path, cache_folder: Path, mode: int
    ) -> None:
        fresh = cli("check")
        self.poison(cache_folder)
        cache_folder.chmod(mode)
        assert cli("check") == fresh

    def test_a_folder_of_somebody_else_is_not_used(
        self, cli: Cli, files: Path, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fresh = cli("check")
        self.poison(cache_folder)
        other = os.geteuid() + 1
        if os.geteuid() == 0:
            os.chown(cache_folder, other, -1)
        else:  # the same seen from the other side
            monkeypatch.setattr(os, "geteuid", lambda: other)
        assert cli("check") == fresh

    def test_a_folder_without_our_tag_is_not_used(
        self, cli: Cli, files: Path, cache_folder: Path
    ) -> None:
        fresh = cli("check")
        self.poison(cache_folder)
        (cache_folder / "CACHEDIR.TAG").write_text("Signature: of somebody\n")
        before = {path.name: path.stat().st_mtime_ns for path in cache_folder.iterdir()}
        assert cli("check") == fresh
        assert cli("clean") == (0, "", "")
        assert {path.name: path.stat().st_mtime_ns for path in cache_folder.iterdir()} == before

    def test_files_that_are_not_ours_stay_in_it(
        self, cli: Cli, files: Path, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(folders, "_MAX_FILES", 0)
        cli("check")
        foreign = ["notes.json", "a.tmp", f"{'0' * 31}.json", f"{'0' * 32}.json.tmp", "x"]
        for name in foreign:
            (cache_folder / name).write_text("mine")
        (cache_folder / f"{'1' * 32}.json").symlink_to("notes.json")
        (files / "a.py").write_text(PORTABLE)
        cli("check")
        left = {path.name for path in cache_folder.iterdir()}
        assert left == {*foreign, f"{'1' * 32}.json", "CACHEDIR.TAG"}

    def test_what_a_crash_left_behind_goes_after_a_while(
        self, cli: Cli, files: Path, cache_folder: Path
    ) -> None:
        cli("check")
        old, new = (cache_folder / f"{'0' * 32}.json.{n * 16}.tmp" for n in "ab")
        old.write_text("")
        new.write_text("")
        age(old)
        (files / "a.py").write_text(PORTABLE)
        cli("check")
        assert (old.exists(), new.exists()) == (False, True)

    def test_a_file_is_never_written_through_a_link(
        self, cli: Cli, files: Path, cache_folder: Path
    ) -> None:
        cli("check")
        (cache,) = cache_folder.glob("*.json")
        precious = files.parent / "precious"
        precious.write_text("mine")
        cache.unlink()
        cache.symlink_to(precious)
        cli("check")
        assert precious.read_text() == "mine"
        assert not cache.is_symlink()

    def test_a_relative_folder_would_be_the_projects(
        self, cli: Cli, files: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MPSLINT_CACHE_DIR", "cache")
        ran = cli("check")
        assert ran.err == "error: MPSLINT_CACHE_DIR: 'cache' must be an absolute path\n"
        assert cli("check", "--no-cache").code == 1

    @pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="they have their own places")
    @pytest.mark.parametrize(
        ("base", "expected"), [("/x/y", "/x/y/mpslint"), ("x", "~/.cache/mpslint")]
    )
    def test_without_a_name_it_lies_where_the_users_caches_do(
        self, monkeypatch: pytest.MonkeyPatch, base: str, expected: str
    ) -> None:
        monkeypatch.delenv("MPSLINT_CACHE_DIR")
        monkeypatch.setenv("XDG_CACHE_HOME", base)
        assert folders.location() == os.path.expanduser(expected)
