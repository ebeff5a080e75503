"""What the tests of several areas share."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from browsers import missing

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
CUDA_ONLY = "import torch\n\ntorch.cuda.synchronize()\n"
"""The shortest file with a finding (MPS201, line 3) and a safe fix."""
NET_FILE = """\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return x + torch.ones(2).cuda()
"""
PROGRAM_OF_NET = """\
import torch

from net import Net

net = Net().cuda()
print(net(torch.ones(1, 2).cuda()))
"""
"""A program, and `net.py` beside it, which move to CUDA, both of them."""
PORTABLE = """\
import torch

if torch.cuda.is_available():
    torch.cuda.synchronize()
elif torch.backends.mps.is_available():
    torch.mps.synchronize()
"""
"""What the fix makes of it."""


KNOWN_WRONG: dict[str, str] = json.loads(
    (Path(__file__).parent / "known_wrong.json").read_text(encoding="utf-8")
)
"""Judgements that are known to be wrong, each with what the analysis lacks. They are expected to
fail, and a test fails where one of them does not: then its line goes."""


@pytest.fixture(autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this test's runs keep what they found: not where the user's do."""
    global _TESTS
    _TESTS += 1
    folder = tmp_path_factory.getbasetemp() / "caches" / str(_TESTS)
    monkeypatch.setenv(_CACHE, str(folder))
    return folder


_TESTS, _CACHE = 0, "MPSLINT_CACHE_DIR"


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
    ours = [name for name in os.environ if name.startswith("MPSLINT_") and name != _CACHE]
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "VIRTUAL_ENV", "CONDA_PREFIX", *ours):
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


@pytest.fixture
def flake8(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """`flake8 --isolated ARGUMENTS` in the current folder, in this process."""
    from flake8.main.cli import main

    from mpslint.flake8_plugin import Plugin

    for name in ("_finder", "_around", "_baselines", "_selected", "_noqa", "_stdin_name"):
        monkeypatch.setattr(Plugin, name, getattr(Plugin, name))  # Options are kept on the class.

    def call(*arguments: str | Path) -> Ran:
        capfd.readouterr()
        code = main(["--isolated", "--jobs=1", *map(str, arguments)])
        out, err = capfd.readouterr()
        return Ran(code, out, err)

    return call


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Tests that share something dear are run by one worker."""
    if config.getoption("dist") != "loadgroup":
        return None
    from grouping import ByGroup

    return ByGroup(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests in a browser run where there is one; `make browser` insists on it."""
    for item in items:
        # Where tests are grouped for workers the name of the group follows, before pytest 9.2.
        reason = KNOWN_WRONG.get(item.nodeid) or KNOWN_WRONG.get(item.nodeid.rpartition("@")[0])
        if reason is not None:
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
    if hasattr(config, "workerinput"):
        from grouping import dear_first

        dear_first(items)
    if not missing() or os.environ.get("BROWSER_TESTS") == "required":
        return
    left_out = [item for item in items if item.get_closest_marker("browser")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say it, where the tests in a browser were left out."""
    reason = missing()
    if reason and os.environ.get("BROWSER_TESTS") != "required":
        terminalreporter.write_line(
            f"NOT RUN: the tests in a browser, since {reason}; `make browser` runs them.",
            yellow=True,
        )
