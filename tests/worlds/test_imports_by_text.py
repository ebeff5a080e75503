"""What a program imports by a text is imported all the same: a module that no Mac can import takes
those along who choose it from a table, put its name together, or have it from a lazy package."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

_KERNEL = "import spconv.pytorch as spconv\n\n\nclass Net(spconv.SparseModule):\n    pass\n"
_PLAIN = "from torch import nn\n\n\nclass Net(nn.Module):\n    pass\n"
_TRAIN = """
import importlib
import sys

import torch

TABLE = {{"sparse": "models.sparse", "other": "models.other"}}
PAIRS = {{"sparse": ("models.sparse", "Net"), "other": ("models.other", "Net")}}


def build({given}):
    {build}


def main(kind):
    net = build(kind)
    print(net(torch.rand(2).cuda()))


main(sys.argv[1])
"""
_WAYS = {
    "a text that is put together": 'return importlib.import_module(f"models.{kind}").Net()',
    "a sum": 'return importlib.import_module("models." + kind).Net()',
    "a format": 'return importlib.import_module("models.{}".format(kind)).Net()',
    "a table": "return importlib.import_module(TABLE[kind]).Net()",
    "a table of pairs": "name, cls = PAIRS[kind]\n    return getattr(__import__(name), cls)()",
}


def _codes(cli: Cli, project: Path, files: dict[str, str]) -> list[str]:
    for name, text in files.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    ran = cli("check", "--output-format", "json", ".")
    return [finding["code"] for finding in json.loads(ran.out)]


@pytest.mark.parametrize("given", ["kind", 'kind="sparse"'], ids=["given", "by default"])
@pytest.mark.parametrize("build", _WAYS.values(), ids=_WAYS)
def test_who_chooses_among_modules_that_no_mac_has_is_for_cuda(
    cli: Cli, project: Path, build: str, given: str
) -> None:
    files = {
        "models/sparse.py": _KERNEL,
        "models/other.py": _KERNEL,
        "train.py": _TRAIN.format(build=build, given=given),
    }
    assert _codes(cli, project, files) == []


@pytest.mark.parametrize("given", ["kind", 'kind="sparse"'], ids=["given", "by default"])
@pytest.mark.parametrize("build", _WAYS.values(), ids=_WAYS)
def test_who_may_choose_one_that_a_mac_has_is_for_all(
    cli: Cli, project: Path, build: str, given: str
) -> None:
    files = {
        "models/sparse.py": _KERNEL,
        "models/other.py": _PLAIN,
        "train.py": _TRAIN.format(build=build, given=given),
    }
    assert "MPS102" in _codes(cli, project, files)


def test_a_table_that_is_filled_later_says_nothing(cli: Cli, project: Path) -> None:
    build = 'TABLE[kind + "s"] = "plain"\n    return importlib.import_module(TABLE[kind]).Net()'
    files = {
        "models/sparse.py": _KERNEL,
        "models/other.py": _KERNEL,
        "train.py": _TRAIN.format(build=build, given="kind"),
    }
    assert "MPS102" in _codes(cli, project, files)


_LAZY = {
    "a table": """
import importlib

_names = {"Trainer": "trainer", "Plain": "plain"}


def __getattr__(name):
    return getattr(importlib.import_module("." + _names[name], __name__), name)
""",
    "arms": """
def __getattr__(name):
    if name == "Trainer":
        from .trainer import Trainer

        return Trainer
    from .plain import Plain

    return Plain
""",
    "lazy_loader": """
import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__, submod_attrs={"trainer": ["Trainer"], "plain": ["Plain"]}
)
""",
}
_LAZY_USER = "import torch\nfrom parts import {name}\n\nprint({name}(), torch.rand(2).cuda())\n"
_LAZY_PARTS = {
    "parts/trainer.py": "import spconv.pytorch\n\n\nclass Trainer:\n    pass\n",
    "parts/plain.py": "class Plain:\n    pass\n",
}


@pytest.mark.parametrize("package", _LAZY.values(), ids=_LAZY)
def test_what_a_lazy_package_has_from_a_module_for_cuda_is_for_cuda(
    cli: Cli, project: Path, package: str
) -> None:
    files = {
        **_LAZY_PARTS,
        "parts/__init__.py": package,
        "train.py": _LAZY_USER.format(name="Trainer"),
    }
    assert _codes(cli, project, files) == []


@pytest.mark.parametrize("package", _LAZY.values(), ids=_LAZY)
def test_what_a_lazy_package_has_from_another_module_is_for_all(
    cli: Cli, project: Path, package: str
) -> None:
    files = {
        **_LAZY_PARTS,
        "parts/__init__.py": package,
        "train.py": _LAZY_USER.format(name="Plain"),
    }
    assert _codes(cli, project, files) == ["MPS102"]
