"""A name that stands somewhere as a text reaches what a module defines where somebody has that
module to look in; and who looks for names elsewhere takes nothing of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mpslint.checking.linter import lint
from mpslint.folders.discovery import Target
from mpslint.project.neighbours import Neighbours
from mpslint.running.runner import check_all
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

LONG_AGO = 1_600_000_000
UTILS = """\
import torch


def to_gpu(x):
    return x.cuda()


def shape(x):
    return x.shape
"""
SHOW = "from utils import shape\n\nprint(shape(1))\n"


def told(folder: Path, place: str = "utils.py", **files: str) -> list[int]:
    start = {"README.md": "A project.\n", "show.py": SHOW, "utils.py": UTILS}
    for name, text in {**start, **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    path = folder / place
    source, settings = SourceFile(str(path), path.read_bytes()), Settings(select=("MPS102",))
    return [finding.row for finding in lint(source, settings, elsewhere=Neighbours(settings))]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("import utils as u\nx = getattr(input(), input())(u.shape(1))\n", []),
        ("import utils as u\nx = getattr(u, input())(u.shape(1))\n", [5]),
        ("import utils as u\nparts = [u]\nx = getattr(parts[0], input())(1)\n", [5]),
        (
            "import importlib\nimport utils as u\n"
            "net = importlib.import_module('nets.' + input())\nx = getattr(u, input())(1)\n",
            [5],
        ),
        ("import utils as u\nx = getattr(1, input()), eval('u.' + input())\n", [5]),
    ],
)
def test_a_module_of_which_only_attributes_are_written_out_is_asked_for_no_other(
    tmp_path: Path, text: str, rows: list[int]
) -> None:
    assert told(tmp_path, **{"train.py": text}) == rows


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("from utils import *\nx = eval('KIND_' + input())\n", []),
        ("from utils import *\nx = eval(f'KIND_{input()}')\n", []),
        ("import utils as u\nx = eval('KIND_' + input())\n", []),
        ("from utils import *\nx = eval('to_' + input())\n", [5]),
        ("import utils as util\nx = eval('util.' + input())\n", [5]),
        ("from utils import *\nx = eval('KIND_' + input()), eval(input())\n", [5]),
        ("from utils import *\nx = eval('%s_gpu' % input())\n", [5]),
        ("from utils import *\nx = eval('KIND_' + input()), globals()[input()]\n", [5]),
    ],
)
def test_a_text_that_begins_as_written_out_takes_what_begins_so(
    tmp_path: Path, text: str, rows: list[int]
) -> None:
    assert told(tmp_path, **{"train.py": text}) == rows


@pytest.mark.parametrize(
    ("place", "text"),
    [("train.py", "mode = 'to_gpu'\nprint(mode)\n"), ("run.yaml", "mode: to_gpu\n")],
)
def test_a_bare_text_says_nothing_where_nobody_has_the_module_to_look_in(
    tmp_path: Path, place: str, text: str
) -> None:
    assert told(tmp_path, **{place: text}) == []
    table = "import utils\nfrom tables import table_of\n\nTABLE = table_of(utils)\n"
    assert told(tmp_path, **{place: text, "table.py": table}) == [5]


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("train.py", "make({'target': 'utils.to_gpu'})\n"),
        ("run.yaml", "target: utils.to_gpu\n"),
        ("run.sh", "python -c 'from utils import shape, to_gpu; to_gpu(1)'\n"),
    ],
)
def test_a_text_that_names_the_module_as_well_is_enough(
    tmp_path: Path, place: str, text: str
) -> None:
    assert told(tmp_path, **{place: text}) == [5]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("def run(to_gpu):\n    return to_gpu\n\n\nrun(1)\n", []),
        ("def run(x):\n    from utils import to_gpu\n    return to_gpu(x)\n\n\nrun(1)\n", [5]),
    ],
)
def test_a_parameter_that_is_called_alike_is_another(
    tmp_path: Path, text: str, rows: list[int]
) -> None:
    assert told(tmp_path, **{"train.py": text}) == rows


LOADER = "from importlib import import_module\n\n\ndef load(name):\n    {}\n    return {}\n\n\n{}\n"


@pytest.mark.parametrize(
    ("said", "taken", "rows"),
    [
        ("parts = pkgutil.iter_modules([name])", "[import_module(one.name) for one in parts]", [5]),
        ("parts = os.listdir(name)", "[import_module(one[:-3]) for one in parts]", [5]),
        ('"""Takes one of the parts, be it utils."""', "import_module(name)", []),
        ('table = {"a": "utils"}', "import_module(table[name])", [5]),
    ],
)
def test_what_is_said_of_a_function_is_no_name_of_a_module(
    tmp_path: Path, said: str, taken: str, rows: list[int]
) -> None:
    loader = LOADER.format(said, taken, "print(load(input()))")
    assert told(tmp_path, **{"loader.py": loader}) == rows


TAKING = """\
import utils


def take(x):
    return utils.__dict__[x]


def size(x):
    return x


{}
"""


@pytest.mark.parametrize(("used", "rows"), [("print(size(1))", []), ("print(take('x'))", [5])])
def test_who_takes_it_by_a_text_and_is_called_by_nobody_takes_nothing(
    tmp_path: Path, used: str, rows: list[int]
) -> None:
    assert told(tmp_path, **{"taking.py": TAKING.format(used)}) == rows


def test_the_cache_forgets_who_had_the_module_to_look_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MPSLINT_CACHE_DIR", str(tmp_path / "cache"))
    folder = tmp_path / "project"
    table = "import utils\nfrom tables import table_of\n\nTABLE = table_of({})\n"
    files = {"train.py": "mode = 'to_gpu'\nprint(mode)\n", "table.py": table.format("utils")}
    assert told(folder, **files) == [5]
    settings = Settings(select=("MPS102",), root=str(folder))

    def checked() -> int:
        for path in (*folder.iterdir(), folder):
            os.utime(path, (LONG_AGO, LONG_AGO))
        target = Target(str(folder / "utils.py"), settings, named=True)
        (result,) = check_all([target], cache=True, jobs=1, with_fixes=False)
        return len(result.findings)

    assert checked() == 1
    (folder / "table.py").write_text(table.format("utils.shape") + "# nothing else\n")
    assert checked() == 0
