"""Code that cannot be imported without compiled CUDA kernels is no Mac's, however far it lies from
them; and an answer never hangs on which file was asked first."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from mpslint.checking.linter import lint
from mpslint.folders.discovery import Target
from mpslint.project.neighbours import Neighbours
from mpslint.running.runner import check_all
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

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
    many = [f"part_{at}" for at in range(160)]
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
    tried = "\n\nif __name__ == '__main__':\n    get_loss(2)\n"
    other.write_text(f"from loss import part\n\n\ndef get_loss(x):\n    return part(x)\n{tried}")

    def rows() -> list[int]:
        settings = Settings(root=str(tmp_path), select=("MPS102",))
        source = SourceFile(str(tmp_path / "loss.py"), (tmp_path / "loss.py").read_bytes())
        return [f.row for f in lint(source, settings, elsewhere=Neighbours(settings))]

    assert rows() == [5]
    other.write_text(f"import loss\n\n\ndef get_loss(x):\n    return loss.get_loss(x)\n{tried}")
    assert rows() == [5, 9]


TRAINER = "import torch\n\n\ndef train(x):\n    return x.cuda()\n"


def project(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def told(folder: Path, name: str) -> list[int]:
    settings = Settings(root=str(folder), select=("MPS102",))
    source = SourceFile(str(folder / name), (folder / name).read_bytes())
    return [f.row for f in lint(source, settings, elsewhere=Neighbours(settings))]


def test_a_package_that_is_imported_on_the_way_counts_however_far_it_is(tmp_path: Path) -> None:
    files = {
        "video/__init__.py": "from . import decoder\n",
        "video/decoder.py": "from images.heads.plain import Head\n",
        "video/engine/__init__.py": "",
        "video/engine/loop.py": TRAINER,
        "images/__init__.py": "from .attention import attend\n",
        "images/attention.py": "import flash_attn\n\nattend = flash_attn.attend\n",
        "images/heads/__init__.py": "",
        "images/heads/plain.py": "class Head:\n    pass\n",
    }
    project(tmp_path, files)
    assert told(tmp_path, "video/engine/loop.py") == []
    project(tmp_path, {"images/__init__.py": ""})
    assert told(tmp_path, "video/engine/loop.py") == [5]


def test_the_package_of_a_module_that_is_not_there_is_imported_first(tmp_path: Path) -> None:
    files = {
        "src/nets/__init__.py": "",
        "src/nets/models/__init__.py": "from .encoder import *\n",
        "src/nets/models/encoder.py": "from flash_attn import flash_attn_func\n",
        "test_clip.py": f"from nets.models.clip import Clip\n{TRAINER}",
    }
    project(tmp_path, files)
    assert told(tmp_path, "test_clip.py") == []
    project(tmp_path, {"src/nets/models/__init__.py": ""})
    assert told(tmp_path, "test_clip.py") == [6]


RASTERIZERS = """
def has_pycuda():
    try:
        import pycuda.gl
    except ImportError:
        return False
    return True


class Plain:
    pass


if has_pycuda():
    from .fast import Fast
{otherwise}"""


@pytest.mark.parametrize(
    ("taken", "otherwise", "rows"),
    [
        ("Fast", "", []),
        ("Plain", "", [6]),
        ("Fast", "else:\n    Fast = Plain\n", [6]),
        ("Fast", "from .stand_ins import *\n", [6]),
        ("Fast", "def __getattr__(name):\n    return Plain\n", [6]),
    ],
)
def test_a_name_that_a_module_has_only_where_the_kernels_are_is_for_cuda(
    tmp_path: Path, taken: str, otherwise: str, rows: list[int]
) -> None:
    files = {
        "pkg/__init__.py": "",
        "pkg/gl/__init__.py": RASTERIZERS.format(otherwise=otherwise),
        "pkg/gl/fast.py": "import pycuda.gl\n\n\nclass Fast:\n    pass\n",
        "pkg/gl/stand_ins.py": "class Fast:\n    pass\n",
        "user.py": f"from pkg.gl import {taken}\n{TRAINER}",
    }
    project(tmp_path, files)
    assert told(tmp_path, "user.py") == rows
