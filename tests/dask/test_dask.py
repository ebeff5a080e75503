"""The same results from a Dask cluster of two workers, which may die. Run by `make dask`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import CUDA_ONLY, Cli

distributed = pytest.importorskip("distributed", reason="needs the extra `dask`: make dask")

PRELOAD = """
import os, signal
import mpslint.running.pool
from mpslint.running.runner import check_job as real
def check(job, **more):
    if job.target.path.endswith("deadly.py"):
        os.kill(os.getpid(), signal.SIGKILL)
    return real(job, **more)
mpslint.running.pool.check_job = check
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Two worker processes that live in another folder than the test."""
    preload = tmp_path_factory.mktemp("preload") / "deadly.py"
    preload.write_text(PRELOAD)
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        dashboard_address=None,
        preload=[str(preload)],
        local_directory=str(tmp_path_factory.mktemp("dask")),
    ) as started:
        started.scheduler.allowed_failures = 0
        yield started


@pytest.fixture
def address(cluster: Any) -> str:
    return str(cluster.scheduler_address).replace("tcp://", "dask://")


@pytest.fixture
def files(project: Path) -> Path:
    for number in range(40):
        (project / f"f{number:02}.py").write_text("\n" * number + CUDA_ONLY)
    (project / "broken.py").write_text(CUDA_ONLY + "def f(:\n")
    (project / "mpslint.toml").write_text('[per-file-ignores]\n"f03.py" = ["MPS201"]\n')
    return project


@pytest.mark.parametrize("style", ["concise", "json"])
def test_a_cluster_gives_what_this_machine_gives(
    cli: Cli, files: Path, address: str, style: str
) -> None:
    options = ("--no-cache", "--output-format", style)
    here = cli("check", *options)
    assert here.code == 2
    assert here.out.count("MPS201") == 39
    assert cli("check", *options, "--executor", address) == here


def test_what_takes_a_module_that_only_this_machine_sees_is_checked_here(
    cli: Cli, files: Path, address: str
) -> None:
    (files / "machine.py").write_text("import torch\n\nFAST = torch.cuda.is_available()\n")
    (files / "guarded.py").write_text(
        "import torch\nfrom machine import FAST\n\nif FAST:\n    torch.cuda.synchronize()\n"
    )
    ran = cli("check", "--no-cache", "--output-format", "concise", "--executor", address)
    assert "guarded.py" not in ran.out
    assert ran == cli("check", "--no-cache", "--output-format", "concise")


def test_what_a_cluster_found_is_in_the_cache(cli: Cli, files: Path, address: str) -> None:
    (files / "broken.py").unlink()
    for path in files.glob("*.py"):
        os.utime(path, (1e9, 1e9))
    found = cli("check", "--executor", address)
    assert cli("check") == found
    assert cli("check", "--executor", "dask://127.0.0.1:9") == found


def test_a_worker_that_dies_costs_its_file_and_the_run_goes_on(
    cli: Cli, files: Path, address: str
) -> None:
    (files / "broken.py").unlink()
    (files / "deadly.py").write_text(CUDA_ONLY)
    ran = cli("check", "--no-cache", "--output-format", "concise", "--executor", address)
    assert ran.code == 2
    assert ran.out.count("MPS201") == 39
    errors = [line for line in ran.err.splitlines() if line.startswith("error")]
    assert errors == [
        "error: deadly.py: the process that checked it died; exclude this file and report it"
    ]


def test_no_scheduler_is_one_line(cli: Cli, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mpslint.running.cluster._PATIENCE", 0.5)
    ran = cli("check", "--no-cache", "--executor", "dask://127.0.0.1:9")
    assert ran.code == 2
    assert ran.err.startswith("error: dask://127.0.0.1:9: no Dask scheduler answers there")
    assert ran.err.count("\n") == 1


def test_workers_of_another_version_are_refused(
    cli: Cli, files: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mpslint.running.cluster.__version__", "99.0")
    ran = cli("check", "--no-cache", "--executor", address)
    assert ran.code == 2
    assert "here is 99.0" in ran.err
