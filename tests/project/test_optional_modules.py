"""What a project does without where it cannot be imported: packages for CUDA alone, and modules
that need them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mpslint.checking.linter import lint
from mpslint.project.neighbours import Neighbours
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

ENGINE = Path(__file__).resolve().parents[2] / "fixtures" / "engine"


def found(path: Path, code: str) -> list[int]:
    settings = Settings(root=str(path.parent), select=(code,))
    source = SourceFile(str(path), path.read_bytes())
    return [item.row for item in lint(source, settings, elsewhere=Neighbours(settings))]


def test_who_uses_a_package_that_a_mac_cannot_have_ends_there() -> None:
    path = ENGINE / "optional" / "uses.py"
    lines = path.read_text().split("\n")
    comes = [at for at, line in enumerate(lines, 1) if line.endswith("# a Mac comes here")]
    assert found(path, "MPS102") == comes != []


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Apart from this repository, whose folder would be the project's."""
    return Path(shutil.copytree(ENGINE / "optional_module", tmp_path / "project"))


def test_an_import_may_fail_in_a_module_that_its_project_does_without(project: Path) -> None:
    assert found(project / "model.py", "MPS213") == []


def test_it_may_not_in_one_that_a_program_needs(project: Path) -> None:
    assert found(project / "needed.py", "MPS213") == [1]
