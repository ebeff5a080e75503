"""A module of a program's package that nothing leads to runs nowhere, whatever it does."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.checking.linter import lint
from mpslint.project.neighbours import Neighbours
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

ENGINE = """\
import torch
from apex import amp


def inference(model, batch):
    return model(batch.cuda())
"""
PROGRAM = {
    "README.md": "A program.\n",
    "train.py": "from core.net import inference\n\nprint(inference(1))\n",
    "core/__init__.py": "",
    "core/net.py": "def inference(x):\n    return x\n",
    "core/engine.py": ENGINE,
}


NET = """\
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 2).cuda()
"""


def found(folder: Path, name: str = "core/engine.py", **files: str) -> list[str]:
    for place, text in {**PROGRAM, **files}.items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    path = folder / name
    source, settings = SourceFile(str(path), path.read_bytes()), Settings(extend_select=("MPS213",))
    return [finding.code for finding in lint(source, settings, elsewhere=Neighbours(settings))]


def with_(place: str, text: str) -> dict[str, str]:
    return {place: text}


def test_all_that_it_does_is_left_alone_be_it_under_a_name_that_others_have(tmp_path: Path) -> None:
    assert found(tmp_path) == []


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("run.py", "import core.engine\n\nprint(core.engine.inference)\n"),
        ("run.py", "from core import engine\n\nprint(engine.inference)\n"),
        ("tools/run.py", "from core.engine import inference\n\nprint(inference)\n"),
        ("run.py", "TABLE = {'test': 'core.engine'}\n"),
        ("run.py", "import subprocess\nsubprocess.run(['python', 'core/engine.py'])\n"),
        ("run.py", "from importlib import import_module\nimport_module('core.' + input())\n"),
        ("run.py", "from importlib import import_module\nimport_module(f'core.{input()}')\n"),
        ("run.py", "exec(f'from core.{input()} import inference')\n"),
        ("run.py", "exec('import core.{}'.format(input()))\n"),
        ("run.py", "exec('from core.' + input() + ' import inference')\n"),
        ("run.py", "import imp\nprint(imp.load_source('x', 'core/' + input() + '.py'))\n"),
        ("core/__init__.py", "from .engine import inference\n"),
        ("core/other.py", "from .engine import inference\n\nprint(inference(1, 2))\n"),
        ("run.sh", "python core/engine.py\n"),
        ("README.md", "Then run `core/engine.py`.\n"),
        ("settings.yaml", "part: engine\n"),
        ("look.ipynb", '{"cells": [{"source": ["from core.engine import inference"]}]}'),
    ],
)
def test_whatever_leads_to_it_is_enough(tmp_path: Path, place: str, text: str) -> None:
    assert found(tmp_path, **with_(place, text)) == ["MPS213"]


@pytest.mark.parametrize(
    ("place", "text"),
    [
        (
            "core/other.py",
            "from .engine import inference\n\n\ndef both(x):\n    return inference(x)\n",
        ),
        ("run.py", "import logging\nlogging.getLogger('nice.engine').info(1)\n"),
        ("run.py", "from others.core.engine import inference\n\nprint(inference)\n"),
        ("run.py", "from importlib import import_module\nimport_module('parts.' + input())\n"),
        ("run.py", "exec(f'from parts.{input()} import inference')\n"),
        ("README.md", "The engine is fast.\n"),
    ],
)
def test_what_leads_elsewhere_or_is_not_reached_itself_is_none(
    tmp_path: Path, place: str, text: str
) -> None:
    assert found(tmp_path, **with_(place, text)) == []


def test_one_that_is_a_program_or_that_a_runner_collects_is_reached(tmp_path: Path) -> None:
    program = ENGINE + "\n\nif __name__ == '__main__':\n    inference(1, 2)\n"
    assert found(tmp_path, **with_("core/engine.py", program)) == ["MPS213"]
    assert found(tmp_path, "core/test_it.py", **with_("core/test_it.py", ENGINE)) == ["MPS213"]


def test_who_takes_it_by_a_text_and_is_reached_by_nobody_leads_nowhere(tmp_path: Path) -> None:
    table = "from . import engine\n\n\ndef pick(name):\n    return engine.__dict__[name]\n"
    assert found(tmp_path, **with_("core/table.py", table)) == []
    user = {"run.py": "from core.table import pick\n\nprint(pick('inference'))\n"}
    assert found(tmp_path, **with_("core/table.py", table), **user) == ["MPS213"]


def test_one_that_others_may_import_is_reached(tmp_path: Path) -> None:
    assert found(tmp_path, **with_("setup.py", "from setuptools import setup\nsetup()\n")) == [
        "MPS213"
    ]


def test_one_of_no_package_may_be_new_or_started_by_hand(tmp_path: Path) -> None:
    (tmp_path / "core").mkdir()
    assert found(tmp_path, "loose/engine.py", **with_("loose/engine.py", ENGINE)) == ["MPS213"]


NESTED = {
    "core/parts/__init__.py": "from .engine import inference\n",
    "core/parts/engine.py": ENGINE,
}
PLACE = "core/parts/engine.py"


def test_what_a_package_that_nobody_imports_hands_on_is_handed_to_nobody(tmp_path: Path) -> None:
    assert found(tmp_path, PLACE, **NESTED) == []


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("run.py", "from core.parts import inference\n\nprint(inference)\n"),
        ("run.py", "import core.parts\n\nprint(core.parts.inference)\n"),
        ("run.py", "from core.parts.other import size\n\nprint(size)\n"),
        ("core/net.py", "from .parts import inference\n"),
        ("core/__init__.py", "from .parts import inference\n"),
        ("core/parts/run.py", "from .engine import inference\n\nprint(inference(1, 2))\n"),
        ("run.yaml", "model: core.parts\n"),
        (
            "run.py",
            "from importlib import import_module\nimport_module(f'core.{input()}.engine')\n",
        ),
        ("train.py", "print('nothing of the package is used')\n"),
    ],
)
def test_a_package_that_somebody_comes_to_hands_its_modules_on(
    tmp_path: Path, place: str, text: str
) -> None:
    assert found(tmp_path, PLACE, **{**NESTED, place: text}) == ["MPS213"]


def test_modules_that_only_lead_to_each_other_are_come_to_by_nobody(tmp_path: Path) -> None:
    engine = f"{ENGINE}\n\ndef other():\n    from core.other import size\n\n    return size(1)\n"
    other = "from core.engine import inference\n\n\ndef size(x):\n    return inference(x, x)\n"
    files = {"core/engine.py": engine, "core/other.py": other}
    assert found(tmp_path, **files) == []
    user = {"run.py": "from core.other import size\n\nprint(size(1))\n"}
    assert found(tmp_path, **files, **user) == ["MPS213"]


@pytest.mark.parametrize(("place", "codes"), [("core/setup.py", []), ("setup.py", ["MPS213"])])
def test_a_module_of_a_package_that_is_called_as_a_build_is_builds_nothing(
    tmp_path: Path, place: str, codes: list[str]
) -> None:
    setup = "from core.engine import inference\n\n\ndef setup(x):\n    return inference(x, x)\n"
    assert found(tmp_path, **with_(place, setup)) == codes


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("run.py", "space = {}\nexec(f'from core.net_{input()} import Net', space)\n"),
        ("run.py", "from core.net import Net\nexec('from core.net_b import Net')\n"),
        (
            "run.py",
            "import runpy\nfrom core.net import Net\nrunpy.run_path('core/' + input())['Net']()\n",
        ),
        ("run.py", "from helper import load\nprint(load(f'core/net_{input()}.py').Net)\n"),
        ("run.py", "from helper import load\nprint(load(f'core.net_{input()}', 'Net'))\n"),
        ("settings.yaml", "model: core.net_${kind}.Net\n"),
    ],
)
def test_what_a_module_defines_to_which_a_text_leads_is_of_use(
    tmp_path: Path, place: str, text: str
) -> None:
    files = {"core/net.py": NET, "core/net_b.py": NET, place: text}
    assert found(tmp_path, "core/net_b.py", **files) == ["MPS102"]


def test_what_a_module_defines_to_which_no_text_leads_is_left_over(tmp_path: Path) -> None:
    files = {
        "core/net.py": NET,
        "core/net_b.py": NET,
        "run.py": "from core.net import Net\nNet(1)\n",
    }
    assert found(tmp_path, "core/net_b.py", **files) == []
