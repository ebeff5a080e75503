"""What the tests of several areas share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
CUDA_ONLY = "import torch\n\ntorch.cuda.synchronize()\n"
"""The shortest file with a finding (MPS201, line 3) and a safe fix."""
PORTABLE = """\
import torch

if torch.cuda.is_available():
    torch.cuda.synchronize()
elif torch.backends.mps.is_available():
    torch.mps.synchronize()
"""
"""What the fix makes of it."""


class Ran(NamedTuple):
    code: int
    out: str
    err: str


Cli = Callable[..., Ran]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is the current one, with no settings file above it in force."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for name in ("NO_COLOR", "FORCE_COLOR", "VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture
def cli(project: Path, capfd: pytest.CaptureFixture[str]) -> Cli:
    """`mpslint ARGUMENTS` in `project`, in this process."""
    from mpslint.cli import run

    def call(*arguments: str | Path) -> Ran:
        capfd.readouterr()
        try:
            code = run([str(argument) for argument in arguments])
        except SystemExit as stopped:
            code = stopped.code if isinstance(stopped.code, int) else 1
        out, err = capfd.readouterr()
        return Ran(code, out, err)

    return call
