"""Code that cannot be imported without compiled CUDA kernels is no Mac's, however far it lies from
them; and an answer never hangs on which file was asked first."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from mpslint.discovery import Target
from mpslint.linter import lint
from mpslint.neighbours import Neighbours
from mpslint.runner import check_all
from mpslint.settings import Settings
from mpslint.source import SourceFile

KERNELS = Path(__file__).resolve().parents[2] / "fixtures" / "engine" / "kernels"
NEED_THEM = [
    "grid/grid.py",
    "grid/lazy.py",
    "rays/march.py",
    "rays/show.py",
    "rays/told.py",
    "scripts/run.py",
    "model.py",
    "train.py",
    "plain/first.py",
    "plain/second.py",
    "points/points_utils.py",
    "nets/backbone.py",
    "chosen.py",
]
DO_WITHOUT = [
    "rays/boxes.py",
    "rays/scene.py",
    "rays/warned.py",
    "plain/compiled.py",
    "plain/optional.py",
    "plain/typed.py",
    "plain/asked.py",
    "plain/user.py",
    "nets/shapes.py",
    "late.py",
    "jit.py",
]


def reached(name: str) -> list[int]:
    """The marked lines of a file."""
    lines = (KERNELS / name).read_text().split("\n")
    return [at for at, line in enumerate(lines, 1) if line.endswith("# a Mac comes here")]


def findings(path: Path, neighbours: Neighbours | None = None) -> list[int]:
    settings = Settings(root=str(KERNELS), select=("MPS102",))
    source = SourceFile(str(path), path.read_bytes())
    return [f.row for f in lint(source, settings, elsewhere=neighbours or Neighbours(settings))]


@pytest.mark.parametrize("name", NEED_THEM)
def test_what_needs_compiled_kernels_is_for_cuda(name: str) -> None:
    assert findings(KERNELS / name) == []


@pytest.mark.parametrize("name", DO_WITHOUT)
def test_what_can_do_without_them_is_not(name: str) -> None:
    assert findings(KERNELS / name) == reached(name) != []


@pytest.mark.parametrize("turned", [False, True])
def test_the_order_of_the_files_changes_nothing(turned: bool) -> None:
    names = sorted([*NEED_THEM, *DO_WITHOUT], reverse=turned)
    neighbours = Neighbours(Settings(root=str(KERNELS), select=("MPS102",)))
    found = {name: findings(KERNELS / name, neighbours) for name in names}
    assert found == {name: reached(name) for name in names}


def test_a_kept_result_ends_when_a_module_far_behind_it_changes(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    shutil.copytree(KERNELS, folder)
    for path in folder.rglob("*.py"):
        os.utime(path, (1_600_000_000, 1_600_000_000))
    settings = Settings(root=str(folder), select=("MPS102",))

    def rows() -> list[int]:
        targets = [Target(str(folder / "train.py"), settings, named=False)]
        (result,) = check_all(targets, cache=True, jobs=1, with_fixes=False)
        return [finding.row for finding in result.findings]

    assert rows() == []
    (folder / "grid" / "backend.py").write_text("backend = None\n")
    (folder / "grid" / "grid.py").write_text("def encode(points):\n    return points\n")
    assert rows() == [6]


def test_a_module_that_leads_to_very_many_is_not_followed(tmp_path: Path) -> None:
    shutil.copytree(KERNELS, tmp_path, dirs_exist_ok=True)
    many = [f"part_{at}" for at in range(80)]
    for name in many:
        (tmp_path / f"{name}.py").write_text("x = 1\n")
    imports = "".join(f"import {name}\n" for name in many)
    (tmp_path / "wide.py").write_text(f"{imports}from model import forward\n")
    (tmp_path / "user.py").write_text("import torch\nimport wide\n\nx = torch.ones(2).cuda()\n")
    settings = Settings(root=str(tmp_path), select=("MPS102",))
    source = SourceFile(str(tmp_path / "user.py"), (tmp_path / "user.py").read_bytes())
    found = [f.row for f in lint(source, settings, elsewhere=Neighbours(settings))]
    assert found == [4]


def test_who_takes_another_name_from_a_module_does_not_use_its_namesake(tmp_path: Path) -> None:
    shutil.copytree(KERNELS, tmp_path, dirs_exist_ok=True)
    loss = "def part(x):\n    return x.cuda()\n\n\ndef get_loss(x):\n    return x.cuda()\n"
    (tmp_path / "loss.py").write_text(f"import torch\n\n\n{loss}")
    (tmp_path / "net.py").write_text("import _rays\nfrom loss import get_loss\nget_loss(1)\n")
    shutil.copy(KERNELS / "rays" / "setup.py", tmp_path)
    other = tmp_path / "other_loss.py"
    started = "\n\nprint(get_loss(1))\n"  # Else all that a Mac can start is something else.
    other.write_text(f"from loss import part\n\n\ndef get_loss(x):\n    return part(x)\n{started}")

    def rows() -> list[int]:
        settings = Settings(root=str(tmp_path), select=("MPS102",))
        source = SourceFile(str(tmp_path / "loss.py"), (tmp_path / "loss.py").read_bytes())
        return [f.row for f in lint(source, settings, elsewhere=Neighbours(settings))]

    assert rows() == [5]
    other.write_text(f"import loss\n\n\ndef get_loss(x):\n    return loss.get_loss(x)\n{started}")
    assert rows() == [5, 9]
