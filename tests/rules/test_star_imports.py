"""What modules hand on by `from other import *` is followed to where it is defined."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

_HELPER = """import torch


def check_memory(model):
    with torch.cuda.device(0):
        torch.cuda.empty_cache()
"""
_TRAIN = """import torch
from tools import {name}

if {test}:
    check_memory(torch.nn.Linear(2, 2))
"""
_ASKED = "torch.cuda.is_available()"


@pytest.mark.parametrize("name", ["check_memory", "*"])
@pytest.mark.parametrize("hands_on", ["from tools.memory import *", "from .memory import *"])
def test_who_calls_it_under_a_question_for_cuda_guards_it(
    cli: Cli, project: Path, name: str, hands_on: str
) -> None:
    _package(project, hands_on)

    assert not _found(cli, project, _TRAIN.format(name=name, test=_ASKED))


def test_who_calls_it_under_another_question_guards_nothing(cli: Cli, project: Path) -> None:
    _package(project, "from .memory import *")

    assert _found(cli, project, _TRAIN.format(name="*", test="__debug__")) == ["MPS206"]


def test_two_modules_that_take_all_names_of_each_other_are_read_once(
    cli: Cli, project: Path
) -> None:
    _package(project, "from .memory import *")
    (project / "tools" / "memory.py").write_text("from tools import *\n" + _HELPER)

    assert not _found(cli, project, _TRAIN.format(name="*", test=_ASKED))


def _package(project: Path, hands_on: str) -> None:
    (project / "tools").mkdir()
    (project / "tools" / "__init__.py").write_text(hands_on + "\n")
    (project / "tools" / "memory.py").write_text(_HELPER)


def _found(cli: Cli, project: Path, train: str) -> list[str]:
    (project / "train.py").write_text(train)
    result = cli("check", "--output-format", "json", ".")
    assert result.code in (0, 1), result.err
    return [item["code"] for item in json.loads(result.out)]
