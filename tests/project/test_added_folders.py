"""A module is found in the folders that a file itself puts on `sys.path`."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from mpslint.project.layout.added_folders import added_folders
from mpslint.project.layout.modules import Modules
from mpslint.settings.settings import Settings

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
        "sys.path.append(os.path.join(sys.path[0], '../lib'))",
        "sys.path.append(os.path.dirname(sys.argv[0]) + '/../lib')",
        "if True:\n    sys.path.append(os.path.abspath('/w/project/lib'))",
        "def add(path):\n    if path not in sys.path:\n        sys.path.insert(0, path)\n\n"
        "add(os.path.join(HERE, '..', 'lib'))",
    ],
)
def test_a_folder_is_worked_out_from_the_place_of_the_file(text: str) -> None:
    assert added(text) == ("/w/project/lib",)


def test_a_relative_folder_is_one_beside_the_file_or_below_the_head_of_the_project() -> None:
    assert added("sys.path.append('lib')") == ("/w/project/tools/lib", "/w/project/lib")
    assert added("sys.path.insert(0, os.getcwd())") == ("/w/project/tools", "/w/project")


def test_a_folder_beside_where_the_program_is_started_is_worked_out_from_there() -> None:
    beside = "sys.path.append(os.path.dirname(os.getcwd()) + '/lib')"
    assert added(beside) == ("/w/project/lib", "/w/lib")


def test_a_program_is_started_in_any_folder_between_the_file_and_the_head() -> None:
    text = ast.parse(f"{HERE}sys.path.append('../lib')")
    folders = added_folders(text, "/w/project/det/nets/vim.py", ["/w/project"])
    assert folders == ("/w/project/det/lib", "/w/lib", "/w/project/lib")


def test_a_file_that_lies_elsewhere_says_nothing_of_the_folders_around_it() -> None:
    text = ast.parse(f"{HERE}sys.path.append('lib')")
    assert added_folders(text, "/x/y/z/a.py", ["/w"]) == ("/x/y/z/lib", "/w/lib")


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


def test_a_part_of_a_project_finds_its_neighbour_part_from_where_it_is_started(
    tmp_path: Path,
) -> None:
    part = tmp_path / "det" / "lib" / "nets"
    part.mkdir(parents=True)
    (tmp_path / "vim").mkdir()
    (tmp_path / "vim" / "scans.py").write_text("x = 1\n")
    user = part / "backbone.py"
    user.write_text(
        "import os, sys\nsys.path.append(os.path.dirname(os.getcwd()) + '/vim')\nimport scans\n"
    )
    (part / "other.py").write_text("import scans\n")
    modules = Modules(Settings(root=str(tmp_path)))
    assert modules.find(str(user), "scans")[0] == str(tmp_path / "vim" / "scans.py")
    assert modules.find(str(part / "other.py"), "scans")[0] is None


def test_what_a_module_beside_a_program_adds_is_there_for_who_imports_it(tmp_path: Path) -> None:
    for name in ("tools", "lib/config"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "lib" / "config" / "__init__.py").write_text("x = 1\n")
    (tmp_path / "tools" / "paths.py").write_text(f"{HERE}sys.path.append(HERE + '/../lib')\n")
    train, plain = tmp_path / "tools" / "train.py", tmp_path / "tools" / "plain.py"
    train.write_text("import paths\nfrom config import x\n")
    plain.write_text("from config import x\n")
    modules = Modules(Settings(root=str(tmp_path)))
    found, looked = modules.find(str(train), "config")
    assert found == str(tmp_path / "lib" / "config" / "__init__.py")
    assert str(tmp_path / "tools" / "paths.py") in looked
    assert modules.find(str(plain), "config")[0] is None
