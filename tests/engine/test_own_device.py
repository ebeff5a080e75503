"""A function of a module that others import selects a device where it needs one alone."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mpslint.fixing.fixer import fix_source
from mpslint.project.project import Project
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

FILES = Path(__file__).resolve().parents[2] / "fixtures" / "engine" / "own_device"


@pytest.fixture
def fixed(tmp_path: Path) -> str:
    shutil.copytree(FILES, tmp_path / "project")
    path = tmp_path / "project" / "optim.py"
    source = SourceFile(str(path), path.read_bytes())
    return fix_source(source, Settings(), elsewhere=Project(Settings())).text


def test_a_device_that_one_arm_needs_is_selected_in_that_arm(fixed: str) -> None:
    _, _, arm = fixed.partition("    if checkpoint is not None:\n")
    assert "torch.device(" not in fixed.partition("    if checkpoint is not None:\n")[0]
    assert arm.index("        device = torch.device(") < arm.index("        for state in")


def test_it_is_selected_in_front_of_the_loop(fixed: str) -> None:
    loop = fixed.partition("        for state in")[2]
    assert "torch.device(" not in loop
    assert "value.to(device)" in loop
