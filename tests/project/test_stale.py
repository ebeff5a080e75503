"""A file that imports a module of its project's from where it no longer lies runs nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.checking.linter import lint
from mpslint.project.neighbours import Neighbours
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

SCRIPT = """\
import torch
from prepare import batches

model = torch.nn.Linear(2, 2).cuda()
for batch in batches():
    print(model(batch.cuda()))
"""
PROJECT = {
    "README.md": "A program.\n",
    "scripts/prepare.py": "def batches():\n    return []\n",
    "scripts/train.py": SCRIPT,
    "old/train.py": SCRIPT,
}


def found(folder: Path, name: str = "old/train.py", **files: str) -> list[str]:
    for place, text in {**PROJECT, **files}.items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    path = folder / name
    source, settings = SourceFile(str(path), path.read_bytes()), Settings(select=("MPS102",))
    return [finding.code for finding in lint(source, settings, elsewhere=Neighbours(settings))]


def test_nothing_of_it_is_told(tmp_path: Path) -> None:
    assert found(tmp_path) == []


def test_the_one_that_finds_the_module_is_told(tmp_path: Path) -> None:
    assert found(tmp_path, "scripts/train.py")


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("run.sh", "PYTHONPATH=scripts python old/train.py\n"),
        ("old/train.py", "import sys\nsys.path.append(input())\n" + SCRIPT),
        ("old/train.py", "import sys\nsys.path.append('../scripts')\n" + SCRIPT),
        ("old/train.py", SCRIPT.replace("import batches", "import loaders as batches")),
        ("old/train.py", SCRIPT.replace("from prepare", "try:\n    from prepare").replace(
            "\n\nmodel", "\nexcept ImportError:\n    batches = list\n\nmodel", 1)),
        ("scripts/start.py", "import old.train\n"),
        ("prepare.py", "def batches():\n    return []\n"),
        ("old/prepare/batches.py", "def batches():\n    return []\n"),
    ],
    ids=[
        *("Python is told where", "a folder that is not known", "a folder that is known"),
        *("another module of the name", "it goes on without", "others import it"),
        *("it lies above", "a folder of the name"),
    ],
)  # fmt: skip
def test_it_is_told_where_the_module_may_be_found(tmp_path: Path, place: str, text: str) -> None:
    assert found(tmp_path, **{place: text})


def test_a_module_that_its_package_lacks_is_found_nowhere(tmp_path: Path) -> None:
    package = {
        "parts/__init__.py": "",
        "parts/net.py": "class Net: ...\n",
        "parts/old.py": SCRIPT.replace("from prepare", "from parts.head"),
    }
    assert found(tmp_path, "parts/old.py", **package) == []
    assert found(tmp_path, "parts/old.py", **package, **{"parts/head.py": "batches = list\n"})


@pytest.mark.parametrize(
    ("module", "is_told"),
    [
        ("def samples():\n    return []\n", False),
        ("from parts import *\n", True),
        ("def __getattr__(name):\n    return list\n", True),
        ("batches = list\n", True),
    ],
    ids=["not there", "by a star", "made when asked for", "there"],
)
def test_what_a_module_does_not_have_is_taken_nowhere(
    tmp_path: Path, module: str, is_told: bool
) -> None:
    assert bool(found(tmp_path, **{"old/prepare.py": module})) is is_told


def test_a_submodule_is_taken_from_its_package(tmp_path: Path) -> None:
    package = {"old/prepare/__init__.py": "", "old/prepare/batches.py": ""}
    assert found(tmp_path, **package)
