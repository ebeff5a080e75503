"""`.cuda()` of an object that another file of the project keeps moves it, as that of any other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

_KEEPS = """import torch
from torch import nn


def cuda(tensor):
    return tensor if torch.cuda.is_available() else None


class network_cfg:
    network = nn.Sequential(nn.Linear(2, 2))


net = nn.Sequential(nn.Linear(2, 2))
"""
_TRAINS = """import torch
{imports}


def train(loader):
    model = {name}.cuda()
    for x in loader:
        print(model(x.float().cuda()))


train([torch.zeros(1, 2)])
"""


@pytest.mark.parametrize(
    ("imports", "name"),
    [
        ("from config import network_cfg", "network_cfg.network"),
        ("from config import network_cfg as cfg", "cfg.network"),
        ("import config", "config.network_cfg.network"),
        ("from config import net", "net"),
        ("import config", "config.net"),
    ],
)
def test_it_moves_together_with_its_batches(
    cli: Cli, project: Path, imports: str, name: str
) -> None:
    (project / "config.py").write_text(_KEEPS)
    train = project / "train.py"
    train.write_text(_TRAINS.format(imports=imports, name=name))

    cli("fix", "--no-verify", "--no-cache", "train.py")

    assert f"model = {name}.to(device)" in train.read_text()
    assert "x.float().to(device)" in train.read_text()


@pytest.mark.parametrize(
    ("imports", "name"),
    [("import config", "config"), ("from numba import core", "core")],
)
def test_a_function_of_that_name_moves_nothing(
    cli: Cli, project: Path, imports: str, name: str
) -> None:
    (project / "config.py").write_text(_KEEPS)
    (project / "train.py").write_text(f"import torch\n{imports}\n\n{name}.cuda(torch.zeros(1))\n")

    done = cli("check", "--no-cache", "--output-format", "json", "train.py")

    assert "MPS102" not in [item["code"] for item in json.loads(done.out)]
