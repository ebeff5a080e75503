"""A class whose constructor joins NCCL has no objects on a Mac: what must be given one of these
runs on CUDA alone. Where such an object can be had in another way, a Mac may come there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

_GROUPS = """
import os
import torch
import torch.distributed as dist


class Groups:
    def __init__(self, size: int, backend: str = "nccl"):
        self.size = size
{joins}
        self.world = size

    def place(self, x):
        return x.cuda()
{more}
"""
_ASSERTS = '        assert backend == "nccl", "only NCCL"'
_STARTS = '        dist.init_process_group("nccl")'
_TRIES = """\
        try:
            assert backend == "nccl"
        except Exception:
            self.size = 1"""
_MAY_START = """\
        if size > 0 and backend:
            dist.init_process_group("nccl")"""
_TRAINER = """
import torch

from package.groups import Groups


class Trainer:
    def __init__(self, model, groups: Groups):
        self.model = model
        self.groups = groups

    def step(self, batch):
        return self.model(batch.to("cuda"))


def evaluate(trainer: Trainer, batch):
    return trainer.model(batch.to("cuda"))


def prepare(batch, groups: {needs}):
    batch = batch.to("cuda")
    return batch


def spread(groups: "Groups", place=torch.device("cuda")):
    def inner(x):
        return x.to("cuda")

    return inner, torch.zeros(3, device=place)
"""


def _rows(cli: Cli, project: Path, name: str, **texts: str) -> list[int]:
    package = project / "package"
    package.mkdir(exist_ok=True)
    (project / "setup.py").write_text(
        "from setuptools import setup\n\nsetup(name='package', packages=['package'])\n"
    )
    (project / "README.md").write_text("```\npip install package\n```\n")
    (package / "__init__.py").write_text("")
    for other, text in texts.items():
        (package / f"{other}.py").write_text(text)
    ran = cli("check", "--select", "MPS1", "--output-format", "json", f"package/{name}.py")
    return [finding["location"]["row"] for finding in json.loads(ran.out)]


def _groups(joins: str = _ASSERTS, more: str = "") -> str:
    return _GROUPS.format(joins=joins, more=more)


@pytest.mark.parametrize("joins", [_ASSERTS, _STARTS, f"{_ASSERTS}  # not gloo"])
def test_what_must_be_given_an_object_that_no_mac_has_is_for_cuda(
    cli: Cli, project: Path, joins: str
) -> None:
    trainer = _TRAINER.format(needs="Groups")
    assert _rows(cli, project, "trainer", groups=_groups(joins), trainer=trainer) == []


def test_its_own_methods_are_for_cuda_too(cli: Cli, project: Path) -> None:
    assert _rows(cli, project, "groups", groups=_groups()) == []


@pytest.mark.parametrize("needs", ["Groups = None", "Groups | None", "object", "int"])
def test_who_may_be_given_none_of_them_is_told(cli: Cli, project: Path, needs: str) -> None:
    trainer = _TRAINER.format(needs=needs)
    assert _rows(cli, project, "trainer", groups=_groups(), trainer=trainer) == [21]


_ALL = [13, 17, 21, 25, 27]


@pytest.mark.parametrize(
    "groups",
    [
        _groups(_MAY_START),
        _groups(_TRIES),
        _groups("        self.backend = backend"),
        _groups('        assert torch.cuda.is_available()  # no "nccl" without'),
        _groups(_STARTS + "  # gloo: on a CPU"),
        _groups(more="\n    @classmethod\n    def alone(cls):\n        return cls.__new__(cls)\n"),
        _groups(more="\n\nclass Alone(Groups):\n    def __init__(self):\n        self.size = 1\n"),
    ],
    ids=[
        "under a test",
        "in a trial",
        "never",
        "asks for CUDA",
        "with Gloo",
        "made anew",
        "derived",
    ],
)
def test_objects_that_a_mac_may_have_in_another_way_keep_nobody_away(
    cli: Cli, project: Path, groups: str
) -> None:
    trainer = _TRAINER.format(needs="Groups")
    assert _rows(cli, project, "trainer", groups=groups, trainer=trainer) == _ALL


def test_a_class_of_another_file_that_is_derived_from_it_may_be_made_otherwise(
    cli: Cli, project: Path
) -> None:
    alone = """
from package.groups import Groups


class Alone(Groups):
    def __init__(self):
        self.size = 1
"""
    trainer = _TRAINER.format(needs="Groups")
    rows = _rows(cli, project, "trainer", groups=_groups(), trainer=trainer, alone=alone)
    assert rows == _ALL


def test_one_that_asks_the_base_is_made_as_that_is(cli: Cli, project: Path) -> None:
    more = "\n\nclass Pairs(Groups):\n    def __init__(self):\n        super().__init__(2)\n"
    trainer = _TRAINER.format(needs="Groups").replace("Groups", "Pairs")
    assert _rows(cli, project, "trainer", groups=_groups(more=more), trainer=trainer) == []


def test_a_data_class_that_holds_one_is_as_rare(cli: Cli, project: Path) -> None:
    state = """
import dataclasses

import torch

from package.groups import Groups


@dataclasses.dataclass
class State:
    groups: Groups
    step: int = 0


def move(state: State, x):
    return x.cuda()
"""
    told = state.replace("groups: Groups", "groups: Groups = None")
    assert _rows(cli, project, "state", groups=_groups(), state=state) == []
    assert _rows(cli, project, "state", groups=_groups(), state=told) == [16]


def test_what_only_such_functions_call_is_for_cuda(cli: Cli, project: Path) -> None:
    helper = "import torch\n\n\ndef batch(size):\n    return torch.zeros(size, device='cuda')\n"
    caller = """
import torch

from package.groups import Groups
from package.helper import batch


def run({needs}):
    torch.cuda.empty_cache()
    return batch(groups)
"""
    for needs, rows in (("groups: Groups", []), ("groups", [5])):
        texts = {"groups": _groups(), "helper": helper, "caller": caller.format(needs=needs)}
        assert _rows(cli, project, "helper", **texts) == rows
