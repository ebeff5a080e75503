"""A module is found in the folders that a file itself puts on `sys.path`."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from mpslint.added_folders import added_folders
from mpslint.modules import Modules
from mpslint.settings import Settings

HERE = (
    "import os, sys\nfrom pathlib import Path\nHERE = os.path.dirname(os.path.abspath(__file__))\n"
)


def added(text: str) -> tuple[str, ...]:
    return added_folders(ast.parse(HERE + text), "/w/project/tools/train.py", ["/w/project"])


@pytest.mark.parametrize(
    "text",
    [
        "sys.path.append(os.path.join(HERE, '..', 'lib'))",
        "sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'lib'))",
        "ROOT = os.path.dirname(HERE)\nsys.path.append(ROOT + '/lib')",
        "sys.path.append(str(Path(__file__).resolve().parent.parent / 'lib'))",
        "sys.path.append(str(Path(__file__).absolute().parents[1].joinpath('lib')))",
        "sys.path += [os.path.realpath(os.path.join(HERE, os.pardir, 'lib'))]",
        "sys.path.extend(['/w/project/lib'])",
        "if True:\n    sys.path.append(os.path.abspath('/w/project/lib'))",
    ],
)
def test_a_folder_is_worked_out_from_the_place_of_the_file(text: str) -> None:
    assert added(text) == ("/w/project/lib",)


def test_a_relative_folder_is_one_beside_the_file_or_below_the_head_of_the_project() -> None:
    assert added("sys.path.append('lib')") == ("/w/project/tools/lib", "/w/project/lib")
    assert added("sys.path.insert(0, os.getcwd())") == ("/w/project/tools", "/w/project")


@pytest.mark.parametrize(
    "text",
    [
        "sys.path.append(os.environ['LIB'])",
        "sys.path.append(os.path.join(HERE, input()))",
        "sys.path.append(LATER)\nLATER = LATER",
        "sys.path.append(1)",
        "paths = []\npaths.append('lib')",
        "sys.path.remove('lib')",
    ],
)
def test_what_hangs_on_something_else_is_not_guessed(text: str) -> None:
    assert added(text) == ()


def test_a_module_is_looked_for_there_after_where_python_looks_first(tmp_path: Path) -> None:
    for name in ("tools/train.py", "tools/near.py", "lib/near.py", "lib/far.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x = 1\n")
    start = str(tmp_path / "tools" / "train.py")
    Path(start).write_text("import sys\nsys.path.append('../lib')\n")
    modules = Modules(Settings(root=str(tmp_path)))
    assert modules.find(start, "near")[0] == str(tmp_path / "tools" / "near.py")
    assert modules.find(start, "far")[0] == str(tmp_path / "lib" / "far.py")
    assert modules.find(str(tmp_path / "tools" / "near.py"), "far")[0] is None
