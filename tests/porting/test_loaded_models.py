"""A model that is loaded whole, and that nothing moves, meets what the choice of MPS moves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Cli

CHOICE = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
PLACED = f"{CHOICE}z = torch.zeros(3, 6).to(device)\n"
LOADING = """\
import torch


def load(path):
    checkpoint = torch.load(path)
    found = checkpoint["model"]
    found.eval()
    return found


"""


def levels(cli: Cli, project: Path, text: str) -> set[str]:
    """How far the fix of each choice in a program may be relied on."""
    (project / "main.py").write_text(text)
    told = json.loads(cli("check", "--select", "MPS103,MPS413", "--output-format", "json").out)
    return {one["fix"]["applicability"] for one in told if one["code"] == "MPS103"}


@pytest.mark.parametrize(
    "loaded",
    [
        f"{LOADING}model = load('a.pt')\n{PLACED}print(model(z))\n",
        f"{LOADING}model = load('a.pt')\n{PLACED}print(model.decode(z))\n",
        f"import torch\nmodel = torch.load('a.pt')['model']\n{PLACED}print(model.decode(z))\n",
        f"import torch\nmodel = torch.load('a.pt', map_location='cpu')\n{PLACED}print(model(z))\n",
    ],
)
def test_a_choice_is_in_doubt_where_the_model_stays_on_the_cpu(
    cli: Cli, project: Path, loaded: str
) -> None:
    assert levels(cli, project, loaded) == {"unsafe"}


@pytest.mark.parametrize(
    "loaded",
    [
        f"{LOADING}{PLACED}model = load('a.pt').to(device)\nprint(model(z))\n",
        f"{LOADING}{PLACED}model = load('a.pt')\nmodel.to(device)\nprint(model(z))\n",
        f"import torch\n{PLACED}model = torch.load('a.pt')['model']\nprint(model.decode(z))\n",
        f"import torch\n{PLACED}model = torch.load('a.pt', map_location=device)\nprint(model(z))\n",
    ],
)
def test_a_choice_is_safe_where_the_model_goes_along(cli: Cli, project: Path, loaded: str) -> None:
    assert levels(cli, project, loaded) == {"safe"}
