"""Runs programs under the harness and hands their reports to the tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, NamedTuple

import pytest

PROGRAMS = Path(__file__).parent / "programs"
SOURCE = Path(__file__).parents[2] / "src"
TIMEOUT = 240


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
    """``harness(script, "--device", "mps", ...)``"""

    def run(script: Path | str, *options: str, **settings: Any) -> Finished:
        return run_program(tmp_path, script, *options, **settings)

    return run
