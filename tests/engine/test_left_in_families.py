"""Leftovers in classes with bases, in libraries, and beside namesakes: what is left behind is not
told, and what somebody may yet reach is."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.checking.linter import lint
from mpslint.project.neighbours import Neighbours
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

_BASE = """\
import others


class Base:
    def fit(self):
        return self.step()
"""
_NET = """\
import torch
from base import Base


class Net(Base):
    def step(self):
        return 1

    def penalty(self, x):
        return x.cuda()
"""
_TRAIN = "from net import Net\n\nprint(Net().fit())\n"


def _write(folder: Path, files: dict[str, str]) -> None:
    for name, text in {"README.md": "A program.\n", **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _told(folder: Path, files: dict[str, str], name: str) -> list[int]:
    _write(folder, files)
    path, settings = folder / name, Settings(select=("MPS102",))
    source = SourceFile(str(path), path.read_bytes())
    return [one.row for one in lint(source, settings, elsewhere=Neighbours(settings))]


def _net(folder: Path, **files: str) -> list[int]:
    named = {f"{name}.py": text for name, text in files.items()}
    return _told(folder, {"base.py": _BASE, "net.py": _NET, "train.py": _TRAIN, **named}, "net.py")


def test_a_method_that_no_base_in_another_file_asks_for_is_left_over(tmp_path: Path) -> None:
    assert _net(tmp_path) == []


@pytest.mark.parametrize(
    "base",
    [
        _BASE.replace("self.step()", "self.penalty(1)"),
        _BASE.replace("self.step()", "getattr(self, 'pen' + input())(1)"),
        _BASE.replace("self.step()", "getattr(self, input())(1)"),
        _BASE.replace("Base:", "Base(others.Trainer):"),
        _BASE.replace("class", "@others.registered\nclass"),
    ],
)
def test_a_base_in_another_file_may_call_it(tmp_path: Path, base: str) -> None:
    assert _net(tmp_path, base=base) == [10]


def test_an_attribute_of_another_beginning_is_another(tmp_path: Path) -> None:
    base = _BASE.replace("self.step()", "getattr(self, 'get_' + input())(1)")
    assert _net(tmp_path, base=base) == []


_PARTS = """\
import torch
from base import Base


def shape(x):
    return x.shape


class Scaler(Base):
    def scale(self, x):
        return x.cuda()
"""


def _parts(folder: Path, base: str = _BASE) -> list[int]:
    used = "from parts import shape\n\nprint(shape(1))\n"
    return _told(folder, {"base.py": base, "parts.py": _PARTS, "train.py": used}, "parts.py")


def test_a_class_that_nobody_makes_is_left_over_with_a_base_in_another_file(tmp_path: Path) -> None:
    assert _parts(tmp_path) == []


@pytest.mark.parametrize(
    "hook",
    [
        "    def __init_subclass__(cls):\n        KINDS.append(cls)\n",
        "    def all(cls):\n        return cls.__subclasses__()\n",
    ],
)
def test_a_base_that_lists_what_is_derived_from_it_uses_it(tmp_path: Path, hook: str) -> None:
    assert _parts(tmp_path, _BASE + "\n" + hook) == [11]


def test_vars_of_an_object_reach_no_function_and_vars_of_the_module_do(tmp_path: Path) -> None:
    text = (
        "import torch\n\n\ndef move(x):\n    return x.cuda()\n\n\ndef shape(x):\n    return {};\n"
    )
    files = {"train.py": "from utils import shape\n\nprint(shape(1))\n"}
    assert _told(tmp_path, {**files, "utils.py": text.format("vars(x)")}, "utils.py") == []
    assert _told(tmp_path, {**files, "utils.py": text.format("vars()['a']")}, "utils.py") == [5]


_UTILS = """\
import torch


def to_gpu(x):
    return x.cuda()


def shape(x):
    return x.shape
"""
_USES_SHAPE = "from core.utils import shape\n\nprint(shape(1))\n"


def _in_package(folder: Path, **files: str) -> list[int]:
    named = {name.replace("__", "/") + ".py": text for name, text in files.items()}
    package = {"core/__init__.py": "", "core/utils.py": _UTILS, "train.py": _USES_SHAPE}
    return _told(folder, {**package, **named}, "core/utils.py")


_HANDED_ON = 'from .utils import to_gpu\n\n__all__ = ["to_gpu"]\n'


def test_a_programs_package_that_only_hands_a_function_on_has_no_use_for_it(tmp_path: Path) -> None:
    files = {"core/__init__.py": _HANDED_ON, "core/utils.py": _UTILS, "train.py": _USES_SHAPE}
    assert _told(tmp_path, files, "core/utils.py") == []
    user = "from core import to_gpu\n\nprint(to_gpu(1))\n"
    assert _told(tmp_path, {**files, "run.py": user}, "core/utils.py") == [5]
    starred = "from core import *\n\nprint(to_gpu(1))\n"
    assert _told(tmp_path, {**files, "run.py": starred}, "core/utils.py") == [5]


def test_a_package_that_keeps_a_table_of_functions_uses_them(tmp_path: Path) -> None:
    table = "from .utils import to_gpu\n\nMOVES = {'gpu': to_gpu}\n"
    files = {"core/__init__.py": table, "core/utils.py": _UTILS, "train.py": _USES_SHAPE}
    assert _told(tmp_path, files, "core/utils.py") == [5]


def test_a_method_called_eval_looks_nothing_up(tmp_path: Path) -> None:
    user = "import core.utils\n\n\nclass Solver:\n    def eval(self):\n        return {}\n"
    user += "\n\nprint(Solver().eval(), core.utils.shape(1))\n"
    assert _in_package(tmp_path, train=user.format("1")) == []
    assert _in_package(tmp_path, train=user.format("super().__dict__['a']")) == []
    assert _in_package(tmp_path, train=user.format("core.utils.__dict__['a']")) == [5]


@pytest.mark.parametrize("kind", ["py", "yaml"])
def test_a_text_that_names_a_namesake_in_another_module_is_no_use(
    tmp_path: Path, kind: str
) -> None:
    other = "def to_gpu(x):\n    return x\n"
    files = {"core/__init__.py": "", "core/utils.py": _UTILS, "train.py": _USES_SHAPE}

    def told(owner: str) -> list[int]:
        named = f"move: {owner}.to_gpu\n" if kind == "yaml" else f"MOVE = '{owner}.to_gpu'\n"
        named = named if kind == "yaml" else "import core\n\n" + named
        return _told(
            tmp_path, {**files, "main.py": other, f"settings.{kind}": named}, "core/utils.py"
        )

    assert told("main") == []
    assert told("core") == [5], "the package may hand it on"
    assert told("core.utils") == [5]
    assert told("pkg.elsewhere") == [5], "what is not found may be anything"


_LIBRARY = {
    "setup.py": "from setuptools import setup\nsetup(name='nice-tools', packages=['core'])\n",
    "README.md": "pip install nice-tools\n",
    "core/__init__.py": "",
    "core/utils.py": _UTILS,
    "core/run.py": "from core.net import net\n\nprint(net())\n",
    "core/net.py": "from core.utils import shape\n\n\ndef net():\n    return shape(1)\n",
}
_TEST = "from core.net import net\n\n\ndef test_net():\n    assert net()\n"


def test_what_a_library_with_tests_neither_shows_tests_nor_uses_is_left_over(
    tmp_path: Path,
) -> None:
    assert _told(tmp_path, {**_LIBRARY, "tests/test_net.py": _TEST}, "core/utils.py") == []


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("core/__init__.py", "from core.utils import to_gpu\n"),
        ("core/__init__.py", "from core.utils import *\n"),
        ("tests/test_it.py", "from core.utils import to_gpu\n\n\ndef test():\n    to_gpu(1)\n"),
        ("docs/api.rst", ".. automodule:: core.utils\n   :members:\n"),
        ("docs/api.rst", ".. autofunction:: core.to_gpu\n"),
        ("README.md", "pip install nice-tools\n\nCall `to_gpu(x)`.\n"),
        ("look.ipynb", '{"cells": [{"source": ["from core.utils import to_gpu"]}]}'),
    ],
)
def test_what_a_library_offers_is_for_those_who_install_it(
    tmp_path: Path, place: str, text: str
) -> None:
    files = {**_LIBRARY, "tests/test_net.py": _TEST, place: text}
    assert _told(tmp_path, files, "core/utils.py") == [5]


def test_of_a_library_without_tests_nobody_can_tell_what_it_offers(tmp_path: Path) -> None:
    assert _told(tmp_path, _LIBRARY, "core/utils.py") == [5]


def test_a_method_of_a_librarys_class_is_for_those_who_install_it(tmp_path: Path) -> None:
    text = "class Net:\n    def move(self, x):\n        return x.cuda()\n\n\nprint(Net())\n"
    files = {**_LIBRARY, "core/utils.py": f"import torch\n{_UTILS}\n\n{text}"}
    files["tests/test_net.py"] = _TEST
    assert len(_told(tmp_path, files, "core/utils.py")) == 1


def test_a_module_that_a_library_leads_to_nowhere_is_left_over_beside_those_it_uses(
    tmp_path: Path,
) -> None:
    old = {"core/old.py": "import torch\n\n\ndef forget(x):\n    return x.cuda()\n"}
    files = {**_LIBRARY, "tests/test_net.py": _TEST, **old}
    assert _told(tmp_path, files, "core/old.py") == []
    docs = {"docs/api.rst": ".. automodule:: core.old\n"}
    assert _told(tmp_path, {**files, **docs}, "core/old.py") == [5]


@pytest.mark.parametrize(("folder", "rows"), [("examples", [5]), ("core", [])])
def test_what_an_example_of_a_library_defines_is_shown(
    tmp_path: Path, folder: str, rows: list[int]
) -> None:
    user = f"from {folder}.used import shape\n\nprint(shape(1))\n"
    files = {**_LIBRARY, "tests/test_net.py": _TEST, "show.py": user}
    assert _told(tmp_path, {**files, f"{folder}/used.py": _UTILS}, f"{folder}/used.py") == rows
