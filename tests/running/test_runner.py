"""Many files: stable order, worker processes, and processes that die."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import CUDA_ONLY, Cli

from mpslint.findings.results import FileResult
from mpslint.folders.discovery import Target
from mpslint.running.pool import Processes
from mpslint.running.runner import Done, Job, check_all
from mpslint.settings.settings import Settings


def make(folder: Path, count: int) -> list[Target]:
    settings = Settings()
    out = []
    for number in range(count):
        path = folder / f"f{number:03}.py"
        path.write_text("\n" * number + CUDA_ONLY, encoding="utf-8")
        out.append(Target(str(path), settings, False))
    return out


def shown(results: list[object]) -> list[tuple[object, ...]]:
    return [
        (r.path, r.error, [(f.row, f.code, f.applicability, f.fix) for f in r.findings])  # type: ignore[attr-defined]
        for r in results
    ]


@pytest.mark.parametrize(
    ("count", "size", "cores", "processes"),
    [
        (64, 20_000, 8, 2),  # 1.3 MB
        (64, 20_000, 1, 1),
        (64, 10_000, 8, 1),
        (63, 20_000, 8, 1),
        (100, 20_000, 3, 3),  # 2 MB
    ],
)
def test_as_many_processes_work_as_the_texts_are_worth(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    count: int,
    size: int,
    cores: int,
    processes: int,
) -> None:
    started = [1]

    def check_elsewhere(jobs: list[Job], workers: Processes, **_: bool) -> list[Done]:
        started.append(workers.count)
        return [Done("", FileResult(job.target.path)) for job in jobs]

    monkeypatch.setattr("mpslint.running.pool.check_elsewhere", check_elsewhere)
    monkeypatch.setattr("mpslint.running.runner._cores", lambda: cores)
    targets = make(tmp_path, count)
    for target in targets:
        Path(target.path).write_text("#" * size)
    check_all(targets, cache=False, with_fixes=False)
    assert started[-1] == processes


def test_processes_give_the_same_results_in_the_same_order(tmp_path: Path) -> None:
    targets = make(tmp_path, 50)
    here = check_all(targets, jobs=1, cache=False, with_fixes=True)
    there = check_all(targets, jobs=3, cache=False, with_fixes=True)
    assert shown(here) == shown(there)
    assert [finding.row for result in there for finding in result.findings] == [
        number + 3 for number in range(50)
    ]


@pytest.fixture
def deadly(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that checks f007.py or f020.py is killed, as by the system when memory ends."""
    import mpslint.running.pool

    real, parent = mpslint.running.pool.check_job, os.getpid()

    def check(job: object, **more: object) -> object:
        if job.target.path.endswith(("f007.py", "f020.py")) and os.getpid() != parent:  # type: ignore[attr-defined]
            os.kill(os.getpid(), signal.SIGKILL)
        return real(job, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(mpslint.running.pool, "check_job", check)


@pytest.mark.usefixtures("deadly")
@pytest.mark.skipif(sys.platform != "linux", reason="the patch reaches workers only by fork")
def test_a_worker_that_dies_costs_its_file_and_the_run_goes_on(tmp_path: Path) -> None:
    import multiprocessing

    if multiprocessing.get_start_method() != "fork":
        pytest.skip("the patch reaches workers only by fork")
    results = check_all(make(tmp_path, 30), jobs=2, cache=False, with_fixes=False)
    dead = {os.path.basename(r.path): r.error for r in results if r.error}
    assert set(dead) == {"f007.py", "f020.py"}
    assert all("the process that checked it died" in str(error) for error in dead.values())
    assert sum(len(result.findings) for result in results) == 28


def test_a_file_that_vanishes_after_it_was_listed_is_no_error(tmp_path: Path) -> None:
    targets = make(tmp_path, 2)
    os.unlink(targets[0].path)
    results = check_all(targets, cache=False, with_fixes=False)
    assert [len(r.findings) for r in results] == [0, 1]
    assert not any(r.error for r in results)


def test_a_rule_that_fails_costs_one_line_and_the_run_goes_on(
    cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import mpslint.checking.linter

    make(project, 3)
    real = mpslint.checking.linter.linted

    def fail(source: object, *rest: object, **more: object) -> object:
        if source.path.endswith("f001.py"):  # type: ignore[attr-defined]
            raise KeyError("a fault\nof ours")
        return real(source, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(mpslint.checking.linter, "linted", fail)
    ran = cli("check", "--output-format", "concise")
    assert ran.code == 2
    assert [line.partition(":")[0] for line in ran.out.splitlines()[:2]] == ["f000.py", "f002.py"]
    assert ran.err.count("\n") == 1
    assert ran.err.startswith("error: f001.py: internal error: KeyError: 'a fault")


def test_a_fault_of_the_installation_is_said_once_and_not_for_each_file(
    cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import mpslint.checking.linter

    def fail(*_: object, **__: object) -> None:
        raise ImportError("a rule is not there")

    make(project, 3)
    monkeypatch.setattr(mpslint.checking.linter, "linted", fail)
    ran = cli("check")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: mpslint: internal error: ImportError: a rule is not there")
    assert ran.err.count("\n") == 1


def test_results_hold_on_to_no_tree(project: Path) -> None:
    (result,) = check_all(make(project, 1), cache=False, with_fixes=False)
    (finding,) = result.findings
    assert finding._build is None
    assert finding.applicability is not None


def test_an_interrupt_ends_all_processes_at_once(tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / f"f{number}.py").write_text(CUDA_ONLY * 2000, encoding="utf-8")
    command = [sys.executable, "-m", "mpslint", "check", "--no-cache", "--jobs", "2", "."]
    started = subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while not children(started.pid) and started.poll() is None:
        time.sleep(0.02)
    os.killpg(started.pid, signal.SIGINT)
    _, err = started.communicate(timeout=60)
    assert started.returncode == 130
    assert err == "interrupted\n"
    with pytest.raises(ProcessLookupError):
        os.killpg(started.pid, 0)


def test_the_processes_of_a_run_that_is_killed_end_with_it(tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / f"f{number}.py").write_text(CUDA_ONLY * 2000, encoding="utf-8")
    command = [sys.executable, "-m", "mpslint", "check", "--no-cache", "--jobs", "2", "."]
    started = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE)
    while len(children(started.pid)) < 2 and started.poll() is None:
        time.sleep(0.02)
    started.kill()
    # The workers hold the other end of it as well: it ends with the last of them.
    assert started.communicate(timeout=60) == (b"", None)
    assert started.returncode == -signal.SIGKILL


def children(pid: int) -> list[str]:
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True
    )
    return listed.stdout.split()
