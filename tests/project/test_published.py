"""What others install they may use; what lies beside that, or is installed for a command, is only
for the project itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.checking.linter import lint
from mpslint.project.neighbours import Neighbours
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

UTILS = """\
import torch


def to_gpu(x):
    return x.cuda()


def shape(x):
    return x.shape
"""
README = "pip install nice-tools\n"
MAIN = "from nice.parts.utils import shape\n\n\ndef main():\n    print(shape(1))\n"
COMMAND = (
    "from setuptools import setup\n"
    "setup(name='nice-tools', packages=['nice'],"
    " entry_points={'console_scripts': ['nice=nice:start']})\n"
)
START = "def start():\n    from nice.main import main\n\n    main()\n"
TOOL = {
    "README.md": README,
    "setup.py": COMMAND,
    "nice/__init__.py": START,
    "nice/main.py": MAIN,
    "nice/parts/__init__.py": "",
    "nice/parts/utils.py": UTILS,
}


def told(folder: Path, place: str, files: dict[str, str]) -> list[int]:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    path = folder / place
    source, settings = SourceFile(str(path), path.read_bytes()), Settings(select=("MPS102",))
    return [finding.row for finding in lint(source, settings, elsewhere=Neighbours(settings))]


def test_what_only_a_command_is_installed_for_is_offered_to_nobody(tmp_path: Path) -> None:
    assert told(tmp_path, "nice/parts/utils.py", TOOL) == []


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("README.md", README + "```\nfrom nice.parts.utils import shape\n```\n"),
        ("docs/use.md", ">>> import nice\n"),
        ("look.ipynb", '{"cells": [{"source": ["import nice\\n"]}]}'),
        ("examples/use.py", "from nice.main import main\n\nmain()\n"),
        ("setup.py", COMMAND.replace("console_scripts", "other.parts")),
        ("nice/__init__.py", START + "\n\nfrom nice.parts import utils\n"),
        ("nice/__init__.py", START + "\n\nclass Nice:\n    pass\n"),
        ("nice/__init__.py", START + "\n\ndef also(x):\n    return x\n"),
    ],
)
def test_a_library_that_has_a_command_as_well_is_one(tmp_path: Path, place: str, text: str) -> None:
    assert told(tmp_path, "nice/parts/utils.py", {**TOOL, place: text}) == [5]


@pytest.mark.parametrize(
    ("settings", "rows"),
    [
        ("[tool.ruff]\nline-length = 100\n", []),
        ("[build-system]\nrequires = ['setuptools']\n", [5]),
        ("[project]\nversion = '1'\n", [5]),
        ("[tool.poetry]\nversion = '1'\n", [5]),
    ],
)
def test_the_settings_of_a_formatter_make_no_distribution(
    tmp_path: Path, settings: str, rows: list[int]
) -> None:
    files = {"pyproject.toml": settings, "nice/__init__.py": "", "nice/utils.py": UTILS}
    show = {"show.py": "from nice.utils import shape\n\nprint(shape(1))\n"}
    assert told(tmp_path, "nice/utils.py", {**files, **show}) == rows


SETUP = "from setuptools import setup, find_packages\nsetup(name='nice-tools', {})\n"


@pytest.mark.parametrize(
    ("packages", "rows"),
    [
        ("packages=['nice', 'tools'], package_dir={'tools': 'utils'}", []),
        ("packages=('nice',)", []),
        ("packages=['vendored']", [5]),
        ("packages=['nice', 'given'], package_dir={'given': 'vendored'}", [5]),
        ("packages=['nice'], package_dir={'': 'src', 'nice': 'vendored'}", [5]),
        ("packages=['nice'] + more", [5]),
        ("packages=['nice'], package_dir=places", [5]),
        ("packages=['nice'], py_modules=['vendored.utils']", [5]),
        ("packages=find_packages(exclude=['vendored', 'vendored.*'])", []),
        ("packages=find_packages(exclude=('tests',))", [5]),
        ("packages=find_packages(exclude=left)", [5]),
    ],
)
def test_a_package_beside_those_that_are_installed_is_the_projects_own(
    tmp_path: Path, packages: str, rows: list[int]
) -> None:
    files = {
        "README.md": README,
        "setup.py": SETUP.format(packages),
        "nice/__init__.py": "from vendored.utils import shape\n",
        "vendored/__init__.py": "",
        "vendored/utils.py": UTILS,
        "show.py": "from vendored.utils import shape\n\nprint(shape(1))\n",
    }
    assert told(tmp_path, "vendored/utils.py", files) == rows


def test_what_a_published_module_lists_is_for_others_and_a_programs_list_is_for_nobody(
    tmp_path: Path,
) -> None:
    listed = UTILS.replace("import torch\n", "import torch\n\n__all__ = ['to_gpu']\n")
    show = {"show.py": "from nice.utils import shape\n\nprint(shape(1))\n"}
    files = {"README.md": README, "nice/__init__.py": "", "nice/utils.py": listed, **show}
    assert told(tmp_path, "nice/utils.py", files) == []
    published = {"setup.py": SETUP.format("packages=['nice']"), "tests/test_it.py": "import nice\n"}
    assert told(tmp_path, "nice/utils.py", published) == [7]
