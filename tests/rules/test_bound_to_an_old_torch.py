"""Who is bound to an older torch hears nothing of pinned memory (loaders warn since torch 2.7), has
no autocast on MPS (since 2.5) and no cache of MPS to empty (since 2.0)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.worlds.conftest import told_in_project

PROGRAM = (
    "import torch\nfrom torch.utils.data import DataLoader\n\n"
    "loader = DataLoader([1], pin_memory=True)\n"
)


@pytest.mark.parametrize(
    "bound", ["torch==1.7.1", "torch==1.13.1", "torch>=2.0,<2.7", "torch==2.6.0"]
)
def test_a_project_whose_torch_says_nothing_is_told_nothing(
    cli: Cli, project: Path, bound: str
) -> None:
    files = {"requirements.txt": f"{bound}\n", "train.py": PROGRAM}
    assert told_in_project(cli, files) == []


@pytest.mark.parametrize("bound", ["torch>=2.0", "torch==2.7.1", "numpy"])
def test_a_project_whose_torch_may_warn_is_told(cli: Cli, project: Path, bound: str) -> None:
    files = {"requirements.txt": f"{bound}\n", "train.py": PROGRAM}
    assert told_in_project(cli, files) == [("train.py", 4, "MPS608")]


def test_a_tensor_that_is_pinned_raises_in_each_of_them(cli: Cli, project: Path) -> None:
    program = "import torch\n\nx = torch.ones(3).pin_memory()\n"
    files = {"requirements.txt": "torch==2.1.0\n", "train.py": program}
    assert told_in_project(cli, files) == [("train.py", 3, "MPS608")]


AUTOCAST = (
    "import torch\n\nmodel = torch.nn.Linear(3, 3)\n"
    "with torch.cuda.amp.autocast():\n    model(torch.ones(3))\n"
)


@pytest.mark.parametrize(
    ("bound", "told"),
    [
        ("torch==1.13.1", []),
        ("torch>=2.0,<2.5", []),
        ("torch==2.5.1", [("train.py", 4, "MPS207")]),
        ("torch>=2.0", [("train.py", 4, "MPS207")]),
        ("torch~=1.7.1", []),
    ],
)
def test_an_autocast_that_the_torch_of_the_project_lacks_on_mps_is_not_asked_for(
    cli: Cli, project: Path, bound: str, told: list[tuple[str, int, str]]
) -> None:
    assert told_in_project(cli, {"requirements.txt": f"{bound}\n", "train.py": AUTOCAST}) == told


@pytest.mark.parametrize(
    ("bound", "told"),
    [("torch==1.11.0", []), ("torch==1.13.1", []), ("torch==2.1.0", [("train.py", 6, "MPS202")])],
)
def test_a_cache_of_mps_that_the_torch_of_the_project_lacks_is_not_asked_for(
    cli: Cli, project: Path, bound: str, told: list[tuple[str, int, str]]
) -> None:
    program = (
        "import torch\n\nmodel = torch.nn.Linear(3, 3)\n"
        "for _ in range(9):\n    model(torch.ones(3))\n    torch.cuda.empty_cache()\n"
    )
    files = {"requirements.txt": f"{bound}\n", "train.py": program}
    assert told_in_project(cli, files) == told
