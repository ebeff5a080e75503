"""Runs programs under the harness and hands their reports to the tests."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

PROGRAMS = Path(__file__).parent / "programs"
SOURCE = Path(__file__).parents[2] / "src"
TIMEOUT = 900  # of a program that hangs; no test waits for it on a slow machine either


class Finished(NamedTuple):
    """How a run under the harness ended."""

    code: int
    report: dict[str, Any] | None
    out: str
    err: str

    def results(self) -> Any:
        """What the program printed after the word RESULTS."""
        lines = [line for line in self.out.splitlines() if line.startswith("RESULTS ")]
        assert lines, f"the program printed no results:\n{self.out[-2000:]}\n{self.err[-4000:]}"
        return json.loads(lines[-1][len("RESULTS ") :])


Run = Callable[..., Finished]


def run_program(folder: Path, script: Path | str, *options: str, **settings: Any) -> Finished:
    """Run a script file, or text that becomes one, under the harness in a fresh process."""
    if isinstance(script, str):
        text, script = script, folder / "script.py"
        script.write_text(text, encoding="utf-8")
    report = folder / "report.json"
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("PYTORCH_")},
        "PYTHONPATH": str(SOURCE),
        "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        **settings.get("env", {}),
    }
    command = [sys.executable, "-m", "mpslint.verify.harness", "--report", str(report)]
    done = subprocess.run(
        [*command, *options, str(script), *settings.get("args", [])],
        cwd=settings.get("cwd", folder),
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        stdin=subprocess.DEVNULL,
    )
    data = json.loads(report.read_text(encoding="utf-8")) if report.exists() else None
    return Finished(done.returncode, data, done.stdout, done.stderr)


@pytest.fixture
def harness(tmp_path: Path) -> Run:
    """``harness(script, "--device", "mps", ...)`` in a fresh Python, which imports torch anew."""

    def run(script: Path | str, *options: str, **settings: Any) -> Finished:
        return run_program(tmp_path, script, *options, **settings)

    return run


@pytest.fixture(scope="session")
def torch_server() -> Iterator[subprocess.Popen[str]]:
    """A process that has torch and forks for each request."""
    server = subprocess.Popen(
        [sys.executable, str(Path(__file__).parent / "zygote.py")],
        env={**os.environ, "PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    yield server
    assert server.stdin is not None
    server.stdin.close()
    server.wait(timeout=TIMEOUT)


@pytest.fixture
def quick(tmp_path: Path, torch_server: subprocess.Popen[str]) -> Run:
    """Like ``harness``, in a process that had imported torch before the script began."""

    def run(script: Path | str, *options: str, **settings: Any) -> Finished:
        if isinstance(script, str):
            text, script = script, tmp_path / "script.py"
            script.write_text(text, encoding="utf-8")
        report, out, err = (tmp_path / name for name in ("report.json", "out", "err"))
        report.unlink(missing_ok=True)
        request = {
            "argv": ["--report", str(report), *options, str(script), *settings.get("args", [])],
            "cwd": str(settings.get("cwd", tmp_path)),
            "env": settings.get("env", {}),
            "out": str(out),
            "err": str(err),
        }
        assert torch_server.stdin is not None
        assert torch_server.stdout is not None
        torch_server.stdin.write(json.dumps(request) + "\n")
        torch_server.stdin.flush()
        assert select.select([torch_server.stdout], [], [], TIMEOUT)[0], "the program hangs"
        code = int(torch_server.stdout.readline())
        data = json.loads(report.read_text(encoding="utf-8")) if report.exists() else None
        return Finished(code, data, out.read_text(), err.read_text())

    return run
