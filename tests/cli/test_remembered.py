"""What files have against each other's fixes is found out once, and again after any change."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Cli

import mpslint.together.promised

MOVING = """\
import torch

from net import Net

net = Net().cuda()
print(net(torch.ones(1, 2).cuda()))
"""
NET = """\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return x + torch.ones(2).cuda()
"""
ON_CUDA_ALONE = "print(torch.cuda.current_device())\n"
"""What raises on a Mac, and has no fix: the program that it stands in is not ported."""


@pytest.fixture
def worked_out(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """One entry for each time that files were looked at together."""
    times: list[str] = []
    real = mpslint.together.promised.as_promised

    def counted(*given: object) -> None:
        times.append("looked at together")
        real(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(mpslint.together.promised, "as_promised", counted)
    return times


@pytest.fixture
def files(project: Path) -> Path:
    """A program whose fixes depend on one another, all of it written long ago."""
    (project / ".git").mkdir()
    (project / "train.py").write_text(MOVING)
    (project / "net.py").write_text(NET)
    age(project)
    return project


def age(top: Path) -> None:
    """Lets a folder, all in it and the one above be a year old: what has just changed is never
    believed."""
    for path in (*top.rglob("*"), top, top.parent):
        then = path.stat().st_mtime - 365 * 86400
        os.utime(path, (then, then))


@pytest.mark.parametrize("style", ["concise", "full", "json"])
def test_a_second_run_looks_at_no_files_together_and_prints_the_same(
    cli: Cli, files: Path, worked_out: list[str], style: str
) -> None:
    first = cli("check", "--output-format", style)
    assert worked_out == ["looked at together"]
    assert cli("check", "--output-format", style) == first
    assert worked_out == ["looked at together"]


def test_what_another_file_has_against_a_fix_is_remembered(cli: Cli, files: Path) -> None:
    (files / "train.py").write_text(MOVING + ON_CUDA_ALONE)
    age(files)
    first = cli("check", "--output-format", "full")
    assert "[*]" not in first.out
    assert cli("check", "--output-format", "full") == first


def raises_now(project: Path) -> None:
    (project / "train.py").write_text(MOVING + ON_CUDA_ALONE)


def is_imported_from_elsewhere_now(project: Path) -> None:
    (project / "other.py").write_text("import torch\nimport torch.legacy.nn\nimport net\n")


def is_gone(project: Path) -> None:
    (project / "net.py").unlink()


@pytest.mark.parametrize("change", [raises_now, is_imported_from_elsewhere_now, is_gone])
def test_after_a_change_it_is_worked_out_again(
    cli: Cli, files: Path, worked_out: list[str], change: Callable[[Path], None]
) -> None:
    cli("check")
    change(files)
    age(files)
    assert cli("check", "--output-format", "full") == cli(
        "check", "--no-cache", "--output-format", "full"
    )
    assert len(worked_out) == 3


def test_one_file_of_a_program_is_looked_at_again_when_another_one_changes(
    cli: Cli, files: Path, worked_out: list[str]
) -> None:
    cli("check", "train.py")
    (files / "net.py").write_text(NET + ON_CUDA_ALONE)
    age(files)
    after = cli("check", "train.py")
    assert len(worked_out) == 2
    assert after == cli("check", "train.py", "--no-cache")


def test_a_damaged_memory_is_no_memory(
    cli: Cli, files: Path, worked_out: list[str], cache_folder: Path
) -> None:
    first = cli("check")
    for kept in cache_folder.glob("*.together"):
        kept.write_bytes(kept.read_bytes()[:-9])
    assert cli("check") == first
    assert len(worked_out) == 2
