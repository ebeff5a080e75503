"""A refusal to run without CUDA stays where something below it can be answered by CUDA alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Cli

PROGRAM = """\
import torch


def run(net, x):
    if not torch.cuda.is_available():
        raise RuntimeError("needs a GPU")
    net(x)
    torch.cuda.synchronize()
    {}


run(torch.nn.Linear(2, 2), torch.ones(1, 2))
"""


def codes_with_fix(cli: Cli, project: Path, last: str) -> set[str]:
    (project / "main.py").write_text(PROGRAM.format(last))
    told = json.loads(cli("check", "--output-format", "json").out)
    return {one["code"] for one in told if one["fix"]}


@pytest.mark.parametrize(
    "last",
    [
        "return torch.cuda.get_device_properties(0).total_memory",
        "return {'gpu': torch.cuda.get_device_properties(0).name}",
        "major, _ = torch.cuda.get_device_capability()\n    return major",
    ],
)
def test_nobody_is_let_in_who_would_end_further_down(cli: Cli, project: Path, last: str) -> None:
    assert codes_with_fix(cli, project, last) == set()


def test_who_gets_through_may_be_let_in(cli: Cli, project: Path) -> None:
    assert "MPS118" in codes_with_fix(cli, project, "return net")
