"""A CUDA device that another file of the project makes is told where it places something."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli

_MAKES = """import torch

HOST = torch.device("cpu")
CUDA_0 = torch.device("cuda:0")
"""
_MOVES = """import torch
{imports}


def quantise(layers):
    layers[0] = layers[0].to({name})
    return torch.zeros(3, device={name})
"""


@pytest.mark.parametrize(
    ("imports", "name"),
    [
        ("from places import CUDA_0", "CUDA_0"),
        ("from places import *", "CUDA_0"),
        ("from places import CUDA_0 as FIRST_CUDA", "FIRST_CUDA"),
        ("import places", "places.CUDA_0"),
    ],
)
def test_it_is_told_once_however_it_is_imported(
    cli: Cli, project: Path, imports: str, name: str
) -> None:
    found = _found(cli, project, _MOVES.format(imports=imports, name=name))

    assert [(item["code"], item["location"]["row"]) for item in found] == [("MPS101", 6)]
    assert [label["location"]["row"] for label in found[0]["related"]] == [7]


def test_a_device_of_all_machines_is_none(cli: Cli, project: Path) -> None:
    assert not _found(cli, project, _MOVES.format(imports="from places import *", name="HOST"))


def test_a_name_of_the_file_comes_before_one_of_all_imported(cli: Cli, project: Path) -> None:
    imports = 'from places import *\nCUDA_0 = "cpu"'

    assert not _found(cli, project, _MOVES.format(imports=imports, name="CUDA_0"))


def test_where_only_cuda_comes_it_is_right(cli: Cli, project: Path) -> None:
    moves = _MOVES.format(imports="from places import *", name="CUDA_0")
    test = "(layers):\n    if not torch.cuda.is_available():\n        return layers\n"
    guarded = moves.replace("(layers):\n", test)

    assert test in guarded
    assert not any("raises" in item["message"] for item in _found(cli, project, guarded))


def _found(cli: Cli, project: Path, text: str) -> list[dict[str, Any]]:
    (project / "places.py").write_text(_MAKES)
    (project / "moves.py").write_text(text)
    ran = cli("check", "--no-cache", "--output-format", "json", "moves.py")
    found: list[dict[str, Any]] = json.loads(ran.out)
    return found


def test_torch_itself_may_come_with_all_names_of_a_file(cli: Cli, project: Path) -> None:
    moves = _MOVES.format(imports="", name='"cuda:0"').replace(
        "import torch", "from places import *"
    )

    assert "import torch" not in moves
    assert [item["location"]["row"] for item in _found(cli, project, moves)] == [6, 7]


_LOADS = """import torch


def load(path, device, strict=True):
    return torch.load(path, map_location=torch.device(device))


class Reader:
    def __init__(self, device):
        self.device = device

    def read(self, path):
        return torch.load(path, map_location=self.device)
"""


@pytest.mark.parametrize(
    ("imports", "call"),
    [
        ("from reading import load", 'load("a.pt", {})'),
        ("from reading import load as loaded", 'loaded("a.pt", {}, False)'),
        ("import reading", 'reading.load("a.pt", {})'),
        ("from reading import Reader", 'Reader({}).read("a.pt")'),
    ],
)
def test_one_that_is_given_by_its_place_is_selected(
    cli: Cli, project: Path, imports: str, call: str
) -> None:
    (project / "reading.py").write_text(_LOADS)
    program = project / "main.py"
    program.write_text(f"import torch\n{imports}\n\nprint({call.format(repr('cuda'))})\n")
    cli("fix", "--no-verify", "--unsafe-fixes", ".")
    assert f"print({call.format('str(device)')})" in program.read_text()
