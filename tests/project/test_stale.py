"""A file that says where Python should look, and imports what lies elsewhere, runs nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.checking.linter import lint
from mpslint.project.neighbours import Neighbours
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

SCRIPT = """\
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from prepare import batches

model = torch.nn.Linear(2, 2).cuda()
for batch in batches():
    print(model(batch.cuda()))
"""
PROJECT = {
    "README.md": "A program.\n",
    "scripts/prepare.py": "def batches():\n    return []\n",
    "scripts/runs/train.py": SCRIPT,
    "old/runs/train.py": SCRIPT,
}


def found(folder: Path, name: str = "old/runs/train.py", **files: str) -> list[str]:
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
    assert found(tmp_path, "scripts/runs/train.py")


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("run.sh", "PYTHONPATH=scripts python old/runs/train.py\n"),
        (
            "old/runs/train.py",
            SCRIPT.replace("str(Path(__file__).resolve().parent.parent)", "sys.argv[1]"),
        ),
        ("old/runs/train.py", SCRIPT.replace("sys.path.insert", "print")),
        ("old/runs/train.py", SCRIPT.replace("import batches", "import loaders as batches")),
        ("old/runs/train.py", SCRIPT.replace("from prepare", "from parts.prepare")),
        (
            "old/runs/train.py",
            SCRIPT.replace(
                "from prepare import batches", "try:\n    from prepare import batches"
            ).replace("\n\nmodel", "\nexcept ImportError:\n    batches = list\n\nmodel", 1),
        ),
        ("scripts/__init__.py", ""),
        ("scripts/start.py", "import old.runs.train\n"),
        ("start.ipynb", '{"cells": [{"source": ["import old.runs.train"]}]}'),
        ("prepare.py", "def batches():\n    return []\n"),
        ("old/prepare/batches.py", "def batches():\n    return []\n"),
    ],
    ids=[
        *("Python is told where", "a folder that is not known", "no folder"),
        *("another module of the name", "a package", "it goes on without", "may be installed"),
        *("others import it", "a notebook imports it", "it lies above", "a folder of the name"),
    ],
)
def test_it_is_told_where_the_module_may_be_found(tmp_path: Path, place: str, text: str) -> None:
    assert found(tmp_path, **{place: text})
