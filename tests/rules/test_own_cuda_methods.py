"""A class of the project's own with a `cuda` method: who calls it is told, wherever the class is,
and no fix makes `.to(device)` of it where the class has no `to`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

_CLASS = """import torch
from torch import nn


class Pair:
    def __init__(self):
        self.a = nn.Linear(3, 3)

    def cuda(self):
        {body}
        return self
{more}

def make_pair():
    return Pair()
"""
_MAIN = """import torch

from models import {name}

pair = {name}()
pair.cuda()
x = torch.zeros(2, 3).cuda()
"""
_MOVES = "self.a.cuda()"
_ASKS = "if torch.cuda.is_available():\n            self.a.cuda()"
_TO = "\n    def to(self, device):\n        self.a.to(device)\n        return self\n"


def _found(cli: Cli, tmp_path: Path, name: str, body: str, more: str = "") -> dict[int, str]:
    """By row of `main.py`: the applicability of the finding's fix, or ''."""
    (tmp_path / "models.py").write_text(_CLASS.format(body=body, more=more))
    main = tmp_path / "main.py"
    main.write_text(_MAIN.format(name=name))
    done = cli("check", "--no-cache", "--output-format", "json", str(main))
    return {
        item["location"]["row"]: (item["fix"] or {}).get("applicability", "")
        for item in json.loads(done.out)
    }


@pytest.mark.parametrize("name", ["Pair", "make_pair"])
def test_the_call_is_told_wherever_the_object_is_made(cli: Cli, tmp_path: Path, name: str) -> None:
    assert 6 in _found(cli, tmp_path, name, _MOVES)


@pytest.mark.parametrize("name", ["Pair", "make_pair"])
def test_without_a_method_to_it_has_no_fix(cli: Cli, tmp_path: Path, name: str) -> None:
    assert _found(cli, tmp_path, name, _MOVES)[6] == ""


def test_with_a_method_to_its_fix_says_that_it_is_another(cli: Cli, tmp_path: Path) -> None:
    assert _found(cli, tmp_path, "Pair", _MOVES, _TO)[6] == "unsafe"


def test_a_method_that_asks_for_cuda_raises_nowhere(cli: Cli, tmp_path: Path) -> None:
    assert 6 not in _found(cli, tmp_path, "Pair", _ASKS)


def test_the_body_of_the_method_is_not_told(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "models.py").write_text(_CLASS.format(body=_MOVES, more=""))
    assert cli("check", "--no-cache", str(tmp_path / "models.py")).code == 0


def test_one_that_sends_itself_to_cuda_by_a_text_leaves_its_tensors_behind(
    cli: Cli, project: Path
) -> None:
    (project / "bank.py").write_text(
        "import torch\n\n\nclass Bank:\n    def __init__(self):\n"
        "        self.rows = torch.zeros(3, 3)\n\n    def to(self, device):\n"
        "        self.rows = self.rows.to(device)\n\n    def cuda(self):\n"
        '        self.to("cuda:0")\n'
    )
    program = (
        "import torch\n\nfrom bank import Bank\n\n"
        'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
        "bank = Bank()\nif torch.cuda.is_available():\n    bank.cuda()\n"
        "print(torch.nn.Linear(3, 3).to(device)(torch.ones(2, 3).to(device)) @ bank.rows)\n"
    )
    (project / "main.py").write_text(program)
    done = cli("fix", "--no-verify", ".")
    assert (project / "main.py").read_text() == program
    assert "line 8: bank.cuda() is moved only where CUDA is" in done.out + done.err
