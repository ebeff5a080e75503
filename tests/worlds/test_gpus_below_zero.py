"""Setting a GPU by a number below 0 does nothing, and raises nowhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Cli

_CHOICE = "if torch.cuda.is_available():\n    gpu = 0\nelse:\n    gpu = {}\n"


def _rows(cli: Cli, project: Path, text: str) -> list[int]:
    (project / "run.py").write_text(f"import torch\n\n{text}")
    found = cli("check", "--select", "MPS206", "--output-format", "json", "run.py")
    return [row["location"]["row"] for row in json.loads(found.out)]


@pytest.mark.parametrize(
    "text",
    [
        "torch.cuda.set_device(-1)\n",
        "torch.cuda.set_device(device=-1)\n",
        f"{_CHOICE.format(-1)}torch.cuda.set_device(gpu)\n",
    ],
)
def test_below_zero_it_is_not_told(cli: Cli, project: Path, text: str) -> None:
    assert _rows(cli, project, text) == []


def test_the_first_gpu_is_told(cli: Cli, project: Path) -> None:
    assert _rows(cli, project, f"{_CHOICE.format(0)}torch.cuda.set_device(gpu)\n") == [7]
