"""Of pinned memory a loader warns since torch 2.7: who is bound to an older torch hears nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.worlds.conftest import told_in_project

PROGRAM = (
    "import torch\nfrom torch.utils.data import DataLoader\n\n"
    "loader = DataLoader([1], pin_memory=True)\n"
)


@pytest.mark.parametrize("bound", ["torch==1.13.1", "torch>=2.0,<2.7", "torch==2.6.0"])
def test_a_project_whose_torch_says_nothing_is_told_nothing(
    cli: Cli, project: Path, bound: str
) -> None:
    files = {"requirements.txt": f"{bound}\n", "train.py": PROGRAM}
    assert told_in_project(cli, files) == []


@pytest.mark.parametrize("bound", ["torch>=2.0", "torch==2.7.1", "torch==1.7.1", "numpy"])
def test_a_torch_that_warns_or_has_to_be_replaced_for_mps_is_told(
    cli: Cli, project: Path, bound: str
) -> None:
    files = {"requirements.txt": f"{bound}\n", "train.py": PROGRAM}
    assert told_in_project(cli, files) == [("train.py", 4, "MPS608")]


def test_a_tensor_that_is_pinned_raises_in_each_of_them(cli: Cli, project: Path) -> None:
    program = "import torch\n\nx = torch.ones(3).pin_memory()\n"
    files = {"requirements.txt": "torch==2.1.0\n", "train.py": program}
    assert told_in_project(cli, files) == [("train.py", 3, "MPS608")]
