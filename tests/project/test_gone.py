"""A program that imports a module which is gone from its own project ends there on every machine,
where nothing but imports speaks of that module any more."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.checking.linter import lint
from mpslint.project.neighbours import Neighbours
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

PROGRAM = """\
import torch

{imported}

model = torch.nn.Linear(2, 2).cuda()
for batch in batches():
    print(model(batch.cuda()))
"""
PROJECT = {
    "README.md": "A program.\n",
    "ocr/__init__.py": "",
    "ocr/core/__init__.py": "",
    "ocr/core/data.py": "def batches():\n    return []\n",
    "main.py": "from ocr.core.data import batches\n\nprint(batches())\n",
}
GONE = "from ocr.parts.data import batches"


def found(folder: Path, imported: str, name: str = "old.py", **files: str) -> list[str]:
    """What is told of a program that imports this."""
    texts = {**PROJECT, name: PROGRAM.format(imported=imported), **files}
    for place, text in texts.items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / ".git").mkdir(exist_ok=True)
    path = folder / name
    source, settings = SourceFile(str(path), path.read_bytes()), Settings(select=("MPS102",))
    return [finding.code for finding in lint(source, settings, elsewhere=Neighbours(settings))]


@pytest.mark.parametrize(
    "imported", [GONE, "import ocr.parts", "from ocr.core.loader import batches"]
)
def test_nothing_is_told_of_it(tmp_path: Path, imported: str) -> None:
    assert found(tmp_path, imported) == []


def test_nothing_is_told_where_another_file_imports_it_in_vain_as_well(tmp_path: Path) -> None:
    assert found(tmp_path, GONE, **{"other.py": f"# {GONE}\n{GONE}\n"}) == []


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("README.md", "It has many parts.\n"),
        ("count.py", "parts = 3\nprint(parts)\n"),
        ("user.py", "try:\n    import old\nexcept ImportError:\n    old = None\n"),
        ("start.sh", "PYTHONPATH=. python old.py\n"),
        ("start.py", "import os, sys\nsys.path.append(os.path.dirname(__file__))\n"),
    ],
)
def test_a_text_that_has_the_word_for_something_else_makes_no_module(
    tmp_path: Path, place: str, text: str
) -> None:
    assert found(tmp_path, GONE, **{place: text}) == []


def test_a_folder_that_is_no_package_counts_where_the_project_imports_from_it(
    tmp_path: Path,
) -> None:
    files = {"sets/base.py": "size = 3\n", "train.py": "from sets.base import size\n"}
    assert found(tmp_path, "from sets.pairs import batches", **files) == []
    (tmp_path / "train.py").unlink()
    assert found(tmp_path, "from sets.pairs import batches")


@pytest.mark.parametrize(
    "imported",
    [
        "from ocr.core.data import batches",
        "from ocr.core.data import *",
        f"try:\n    {GONE}\nexcept ImportError:\n    from ocr.core.data import batches",
        f"def batches():\n    {GONE} as made\n    return made()",
        "from ocr._parts import batches",
        "from other.parts import batches",
        "from ocr.core import __doc__ as batches",
    ],
)
def test_what_may_be_had_is_told(tmp_path: Path, imported: str) -> None:
    assert found(tmp_path, imported)


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("ocr/__init__.py", "def __getattr__(name):\n    return load(name)\n"),
        ("ocr/__init__.py", "__path__ = extend_path(__path__, __name__)\n"),
        ("ocr/parts.pyx", ""),
        ("ocr/parts.py.in", ""),
        ("ocr/part.proto", ""),
        ("ocr/Parts/data.txt", ""),
        (".gitignore", "parts/\n"),
        ("ocr/.gitignore", "/parts\n"),
        (".git/info/exclude", "ocr/parts\n"),
        ("setup.py", "setup(package_dir={'ocr.parts': 'lib'})\n"),
        ("pyproject.toml", '[tool.hatch.version]\nversion-file = "ocr/parts.py"\n'),
        ("pyproject.toml", '[project]\ndependencies = ["torch", "ocr>=2"]\n'),
        ("requirements.txt", "torch\nocr>=1.2\n"),
        ("README.md", "pip install ocr\n"),
        ("README.md", "Set your folders in `ocr/parts.py`.\n"),
        ("Snakefile", 'output: "ocr/parts.py"\n'),
        (".gitmodules", "[submodule]\npath = ocr/parts\n"),
        ("make.py", "os.makedirs(os.path.join('ocr', 'parts'))\n"),
        ("start.py", "import sys\nsys.meta_path.insert(0, Finder())\n"),
        ("start.py", "import sys\nsys.modules['ocr.' + name] = made\n"),
        ("README.md", "git clone https://example.org/parts\n"),
        ("README.md", "Write `parts` first.\n"),
        ("ocr/make.py", "open('parts.py', 'w').write(text)\n"),
        ("copy.py", "shutil.copytree('.', 'ocr/parts')\n"),
        ("build.sh", "export PYTHONPATH=/opt/ocr-extra\n"),
        ("start.py", "import sys\nsys.path.insert(0, '/opt/ocr-extra')\n"),
    ],
)
def test_what_may_be_made_or_found_elsewhere_is_told(tmp_path: Path, place: str, text: str) -> None:
    assert found(tmp_path, GONE, **{place: text})


@pytest.mark.parametrize("name", [".gitignore", "ocr/.gitignore", "Makefile"])
def test_the_answer_rests_on_the_texts_that_may_speak_of_the_place(
    tmp_path: Path, name: str
) -> None:
    assert found(tmp_path, GONE) == []
    path, settings = tmp_path / "old.py", Settings(select=("MPS102",))
    neighbours = Neighbours(settings)
    lint(SourceFile(str(path), path.read_bytes()), settings, elsewhere=neighbours)
    assert str(tmp_path / name) in {one.path for one in neighbours.consulted()}
