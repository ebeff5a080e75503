"""A copy of a module that is in use, to which nothing leads, runs nowhere: what is told of the
original stands there once already."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.checking.linter import lint
from mpslint.project.neighbours import Neighbours
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

NET = """\
import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Linear(width, width)
        self.second = nn.Linear(width, 2 * width)
        self.third = nn.Linear(2 * width, width)
        self.normed = nn.LayerNorm(width)

    def forward(self, batch):
        hidden = torch.relu(self.first(batch))
        hidden = torch.relu(self.second(hidden))
        hidden = torch.relu(self.third(hidden))
        return self.normed(batch + hidden)


class Net(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.encoder = Encoder(width).cuda()
        self.head = nn.Linear(width, 1)
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, batch):
        hidden = self.encoder(batch) * self.scale
        return torch.sigmoid(self.head(hidden))
"""
OLDER = NET.replace("torch.sigmoid", "torch.tanh")
OTHER = """\
import torch


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.LSTM(4, 4).cuda()
"""
SCRIPT = NET + "\n\nfor _ in range(3):\n    print(Net(2)(torch.ones(2, 2)))\n"
TRAIN = "from lib.net import Net\n\nprint(Net(2))\n"
PROJECT = {
    "README.md": "A program.\n",
    "train.py": TRAIN,
    "lib/net.py": NET,
    "parts/old/net.py": OLDER,
}
COPY = "parts/old/net.py"


def found(folder: Path, name: str = COPY, **files: str) -> list[str]:
    for place, text in {**PROJECT, **files}.items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    path = folder / name
    source, settings = SourceFile(str(path), path.read_bytes()), Settings(select=("MPS102",))
    return [finding.code for finding in lint(source, settings, elsewhere=Neighbours(settings))]


TOLD = ["MPS102"]


def test_nothing_of_a_copy_is_told(tmp_path: Path) -> None:
    assert found(tmp_path) == []


def test_the_original_is_told(tmp_path: Path) -> None:
    assert found(tmp_path, "lib/net.py") == TOLD


def test_a_copy_under_another_name_beside_the_original_is_one_too(tmp_path: Path) -> None:
    assert found(tmp_path, "lib/net_old.py", **{"lib/net_old.py": OLDER}) == []


def test_a_copy_whose_class_has_another_name_is_one_where_most_lines_are_the_same(
    tmp_path: Path,
) -> None:
    renamed = NET.replace("class Net(", "class Classifier(")
    assert found(tmp_path, "lib/net_2.py", **{"lib/net_2.py": renamed}) == []


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("run.py", "from parts.old.net import Net\n\nprint(Net(2))\n"),
        ("run.py", "import sys\nsys.path.append(input())\nfrom old.net import Net\n"),
        ("parts/old/run.py", "from net import Net\n\nprint(Net(2))\n"),
        ("parts/old/test_it.py", "from net import Net\n\n\ndef test_it():\n    Net(2)\n"),
        ("parts/old/more.py", "from .net import Net\n"),
        ("run.py", "from importlib import import_module\nimport_module('parts.old.' + input())\n"),
        (
            "run.py",
            "from importlib import import_module\nx = input()\nimport_module(f'parts.{x}.net')\n",
        ),
        (
            "run.py",
            "from importlib import import_module\nimport_module('parts.' + input() + '.net')\n",
        ),
        ("run.py", "x = input()\nexec(f'from parts.{x}.net import Net')\n"),
        ("run.py", "exec('from parts.{}.net import Net'.format(input()))\n"),
        ("run.py", "exec('from ' + input() + ' import Net')\n"),
        (
            "run.py",
            "from importlib import import_module\nimport_module('.'.join([input(), 'net']))\n",
        ),
        (
            "run.py",
            "import sys\nfrom importlib import import_module\nsys.path.append('old' or 'lib')\n"
            "import_module('net' or input())\n",
        ),
        ("run.py", "import runpy\nrunpy.run_path('parts/old/' + input())\n"),
        (
            "run.py",
            "import glob, runpy\nfor one in glob.glob('*/*/net.py'):\n    runpy.run_path(one)\n",
        ),
        ("run.py", "TABLE = {'old': 'old.net'}\n"),
        ("run.sh", "python parts/old/net.py\n"),
        ("run.sh", "cd parts/old && python net.py\n"),
        ("README.md", "Then run `parts/old/net.py`.\n"),
        ("README.md", "For the older one: `from parts.old.net import Net`.\n"),
        ("README.md", "Then run `python somewhere/parts/old/net.py`.\n"),
        ("settings.yaml", "model: old.net\n"),
        ("parts/old/settings.yaml", "model: net\n"),
        ("look.ipynb", '{"cells": [{"source": ["from parts.old.net import Net"]}]}'),
    ],
)
def test_whatever_leads_to_the_copy_is_enough(tmp_path: Path, place: str, text: str) -> None:
    assert found(tmp_path, **{place: text}) == TOLD


BESIDE = "lib/net_old.py"
"""A copy that has another name than its original."""


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("run.py", "from helper import get\nget(f'lib.net_{input()}.Net')\n"),
        ("run.py", "from helper import get\nget(f'lib.net_{input()}:Net')\n"),
        ("run.py", "from helper import get\nget('lib.net_%s' % input())\n"),
        ("run.py", "from helper import get\nget('lib.net_' + input(), 'Net')\n"),
        ("run.py", "from helper import get\nget('lib.' + input() + '_old')\n"),
        ("run.py", "from helper import get\nget('lib/' + 'net_' + input() + '.py')\n"),
        ("run.py", "from helper import get\nget('lib', f'net_{input()}.py')\n"),
        ("run.py", "from os import system\nsystem(f'python lib/net_{input()}.py --fast')\n"),
        ("run.py", "from pydoc import locate\nlocate(f'lib.{input()}')\n"),
        ("run.py", "from importlib import import_module as load\nload(f'lib.{input()}')\n"),
        (
            "run.py",
            "from importlib import import_module\nmap(import_module, 'net net_old'.split())\n",
        ),
        (
            "run.py",
            "from importlib import import_module as load\nload('.'.join(['lib', 'net_old']))\n",
        ),
        ("run.py", "import importlib\nload = importlib.import_module\nload('lib.' + input())\n"),
        ("settings.yaml", "kind: old\nmodel:\n  _target_: lib.net_${kind}.Net\n"),
        ("settings.jsonnet", "local net = 'net_old'; { model: 'lib.' + net }\n"),
        ("run.sh", "for name in old new; do python lib/net_$name.py; done\n"),
        ("run.sh", "for file in lib/net_*.py; do python $file; done\n"),
        ("run.sh", "python -m lib.$1\n"),
        ("run.slurm", "python -c 'import lib.net_old'\n"),
        ("run.bat", "python lib/net_%1%.py\n"),
        ("Makefile", "all:\n\tpython -m net_old\n"),
        (".github/workflows/run.yml", "jobs:\n  run: python lib/net_${{ matrix.name }}.py\n"),
        ("README.md", "Then run `python lib/net_<name>.py`.\n"),
        ("docs/index.rst", ".. automodule:: net_old\n"),
    ],
)
def test_a_text_that_may_name_the_copy_leads_to_it_whoever_reads_it(
    tmp_path: Path, place: str, text: str
) -> None:
    assert found(tmp_path, BESIDE, **{BESIDE: OLDER, place: text}) == TOLD


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("run.py", "from helper import get\nget(f'net_{input()}.pth')\n"),
        ("run.py", "from helper import get\nget(f'results/net_{input()}.py')\n"),
        ("run.py", "from helper import get\nget(f'lib/{input()}')\n"),
        ("run.py", "from helper import get\nget(f'net_{input()}.weight')\n"),
        ("run.py", "weights = {}\nprint(weights['lib.' + input()])\n"),
        ("run.py", "from helper import get\nget(f'{input()}.py')\n"),
        ("run.py", "import lib\neval('lib.' + input() + '.Net')\n"),
        (".github/workflows/run.yml", "on:\n  push:\n    branches: [net_old]\n"),
        ("Makefile", "net_old:\n\techo $(NAME).py\n"),
        ("setup.cfg", "[flake8]\nper-file-ignores = lib/net_*.py:F401\n"),
        ("README.md", "Put what you write into `lib/<name>.py`.\n"),
    ],
)
def test_a_text_that_names_something_else_leads_nowhere(
    tmp_path: Path, place: str, text: str
) -> None:
    assert found(tmp_path, BESIDE, **{BESIDE: OLDER, place: text}) == []


@pytest.mark.parametrize(
    "given", ["sys.argv[1]", "args.lib + '/more'", "parser.parse_args().lib", "input()"]
)
def test_who_says_where_python_looks_first_may_mean_the_copy(tmp_path: Path, given: str) -> None:
    text = (
        "import sys\nfrom command import parser\nargs = parser.parse_args()\n"
        f"sys.path.insert(0, {given})\nfrom net import Net\n\nprint(Net(2))\n"
    )
    assert found(tmp_path, **{"lib/train.py": text}) == TOLD


@pytest.mark.parametrize("where", ["sys.path.append(sys.argv[1])", "sys.path.insert(0, 'more')"])
def test_a_folder_behind_that_of_the_original_or_another_leads_not_to_the_copy(
    tmp_path: Path, where: str
) -> None:
    text = f"import sys\n{where}\nfrom net import Net\n\nprint(Net(2))\n"
    assert found(tmp_path, **{"lib/train.py": text}) == []


def test_a_text_whose_open_part_tells_copies_apart_means_each_of_them(tmp_path: Path) -> None:
    start = "from importlib import import_module\n"
    files = {
        "parts/new/net.py": NET,
        "train.py": f"{start}import_module(f'parts.{{input()}}.net')\n",
    }
    assert found(tmp_path, **files) == TOLD
    assert found(tmp_path, "parts/new/net.py", **files) == TOLD


@pytest.mark.parametrize("text", ["f'lib.n{x}t.Net'", "f'lib/n{x}t.py'"])
def test_a_text_that_goes_with_the_original_as_well_means_that(tmp_path: Path, text: str) -> None:
    files = {"old/lib/net.py": OLDER, "run.py": f"x = input()\nprint({text})\n"}
    assert found(tmp_path, "old/lib/net.py", **files) == []


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("README.md", "See `lib/net.py`, or `net.py` for short.\n"),
        ("settings.yaml", "model: lib.net\n"),
        ("run.sh", "python lib/net.py\n"),
        ("run.py", "import shutil\nshutil.copy('lib/net.py', 'parts/old')\n"),
        ("lib/run.py", "from importlib import import_module\nimport_module(input() or 'net')\n"),
        (
            "run.py",
            "import sys\nfrom importlib import import_module\nsys.path.append(input() + '/lib')\n"
            "import_module('net' or input())\n",
        ),
        ("run.py", "import runpy\nrunpy.run_path('lib/' + input())\n"),
        ("run.py", "x = input()\nexec(f'from lib.{x} import Net')\n"),
        ("run.py", "exec('print(1)')\nexec(open('version').read())\n"),
    ],
)
def test_what_leads_to_the_original_leads_not_to_the_copy(
    tmp_path: Path, place: str, text: str
) -> None:
    assert found(tmp_path, **{place: text}) == []


def test_copies_that_only_import_each_other_are_come_to_by_nobody(tmp_path: Path) -> None:
    user = NET.replace("import torch\n", "import torch\nfrom net import Net as Inner\n", 1)
    both = {"lib/deep.py": user, "parts/old/deep.py": user, "run.py": "from lib.deep import Net\n"}
    assert found(tmp_path, **both) == []
    assert found(tmp_path, **{**both, "run.py": "from parts.old.deep import Net\n"}) == TOLD


def test_a_copied_package_that_nobody_imports_hands_its_modules_to_nobody(tmp_path: Path) -> None:
    init = {"parts/old/__init__.py": "from .net import Net\n"}
    assert found(tmp_path, **init) == []
    assert (
        found(tmp_path, **init, **{"run.py": "from parts.old import Net\n\nprint(Net(2))\n"})
        == TOLD
    )


def test_a_module_that_somebody_writes_anew_is_no_copy(tmp_path: Path) -> None:
    assert found(tmp_path, **{COPY: OTHER}) == TOLD


def test_a_few_lines_are_no_copy(tmp_path: Path) -> None:
    assert found(tmp_path, **{COPY: OTHER, "lib/net.py": OTHER}) == TOLD


def test_a_module_of_which_much_is_new_is_no_copy(tmp_path: Path) -> None:
    more = "".join(f"        self.layer_{i} = nn.Linear(width, {i})\n" for i in range(20))
    text = OLDER.replace("        self.head =", f"{more}        self.head =")
    assert found(tmp_path, **{COPY: text}) == TOLD


def test_of_two_copies_that_nobody_comes_to_both_are_told(tmp_path: Path) -> None:
    alone = {"train.py": "print(1)\n"}
    assert found(tmp_path, **alone) == TOLD
    assert found(tmp_path, "lib/net.py", **alone) == TOLD


def test_of_two_that_are_the_same_byte_by_byte_the_upper_one_is_told(tmp_path: Path) -> None:
    alone = {"train.py": "print(1)\n", COPY: NET}
    assert found(tmp_path, **alone) == []
    assert found(tmp_path, "lib/net.py", **alone) == TOLD


def test_of_two_that_are_the_same_and_lie_equally_deep_both_are_told(tmp_path: Path) -> None:
    alone = {"train.py": "print(1)\n", "old/net.py": NET}
    assert found(tmp_path, "old/net.py", **alone) == TOLD


def test_a_program_that_is_the_same_byte_by_byte_is_told_once(tmp_path: Path) -> None:
    both = {"run.py": SCRIPT, "parts/run.py": SCRIPT}
    assert found(tmp_path, "parts/run.py", **both) == []
    assert found(tmp_path, "run.py", **both) == TOLD
    assert found(tmp_path, "parts/run.py", **both, **{"r.sh": "python parts/run.py\n"}) == TOLD


def test_a_program_that_is_the_same_and_has_another_module_beside_it_does_something_else(
    tmp_path: Path,
) -> None:
    run = f"from model import Model\n\n{SCRIPT}"
    both = {"run.py": run, "parts/run.py": run, "model.py": OTHER}
    assert found(tmp_path, "parts/run.py", **both) == []
    other = {"parts/model.py": OTHER.replace("Net", "Model").replace("LSTM", "GRU")}
    assert found(tmp_path, "parts/run.py", **both, **other) == TOLD


def test_a_program_that_differs_is_started_for_what_it_does_otherwise(tmp_path: Path) -> None:
    both = {"run.py": SCRIPT, "parts/run.py": SCRIPT.replace("sigmoid", "tanh")}
    assert found(tmp_path, "parts/run.py", **both) == TOLD


def test_what_a_copied_program_imports_is_come_to_by_nobody(tmp_path: Path) -> None:
    run = f"from net import Net\n\n{SCRIPT}"
    assert found(tmp_path, **{"lib/run.py": run, "parts/old/run.py": run}) == []
    assert found(tmp_path, **{"lib/run.py": run, "parts/old/run.py": f"{run}# \n"}) == TOLD


@pytest.mark.parametrize("name", ["test_net.py", "conftest.py", "hubconf.py"])
def test_what_a_tool_finds_by_its_name_is_told(tmp_path: Path, name: str) -> None:
    assert found(tmp_path, f"parts/old/{name}", **{f"parts/old/{name}": OLDER}) == TOLD


def test_what_others_install_is_told(tmp_path: Path) -> None:
    setup = {"setup.py": "from setuptools import setup\nsetup()\n"}
    assert found(tmp_path, **setup) == TOLD
