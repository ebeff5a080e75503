"""A tensor of NumPy's own dtype, which another file keeps on its objects, stays off MPS."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Cli

START = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
KEPT = """
import numpy as np
import torch


class Base:
    def __init__(self, n):
        self.points = {points}


EDGES = torch.from_numpy(np.linspace(0, 1, 5))
"""
WIDE = "torch.from_numpy(np.linspace(0, 1, n))"


def is_ported(cli: Cli, project: Path, used: str, imported: str, points: str = WIDE) -> bool:
    (project / "parts").mkdir()
    (project / "parts" / "__init__.py").write_text("from .grid import EDGES, Base\n")
    (project / "parts" / "grid.py").write_text(KEPT.format(points=points))
    (project / "train.py").write_text(f"import torch\n{imported}\n\n{START}{used}")
    cli("fix", "--no-verify", ".")
    return '"mps"' in (project / "train.py").read_text()


@pytest.mark.parametrize(
    ("imported", "used"),
    [
        ("from parts.grid import Base", "base = Base(4)\nprint(base.points.to(device))\n"),
        ("from parts import Base", "base = Base(4)\nprint(base.points.to(device))\n"),
        ("import parts", "base = parts.Base(4)\nprint(base.points.to(device))\n"),
        (
            "import parts",
            "def moved(one):\n    return one.points.cuda()\n\nmoved(parts.Base(4))\n",
        ),
        ("import parts", "base = parts.Base(4)\nprint(torch.tensor(base.points, device=device))\n"),
        ("import parts", "print(parts.EDGES.to(device))\n"),
        ("from parts import EDGES", "print(EDGES.to(device))\n"),
    ],
)
def test_what_an_object_of_another_file_keeps_as_float64_is_not_moved_to_mps(
    cli: Cli, project: Path, imported: str, used: str
) -> None:
    assert not is_ported(cli, project, used, imported)


@pytest.mark.parametrize(
    ("used", "points"),
    [
        ("base = parts.Base(4)\nprint(base.points.float().to(device))\n", WIDE),
        ("base = parts.Base(4)\nprint(base.points.to(device))\n", "torch.linspace(0, 1, n)"),
        ("base = parts.Base(4)\nprint(base.points.to(device))\n", f"{WIDE}.float()"),
        ("def moved(points):\n    return points.to(device)\n\nmoved(torch.ones(3))\n", WIDE),
        (
            "class Own:\n    def __init__(self):\n        self.points = torch.ones(3)\n\n"
            "print(Own().points.to(device), parts)\n",
            WIDE,
        ),
    ],
)
def test_what_is_cast_or_another_is(cli: Cli, project: Path, used: str, points: str) -> None:
    assert is_ported(cli, project, used, "import parts", points)
