"""What is float64 on one of several ways puts a choice of MPS in doubt where it is moved there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

_PROGRAM = """import sys

import numpy as np
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = torch.nn.Linear(3, 3).to(device)
{}
print(net(x))
"""
_ARMS = """if sys.argv[1] == "text":
    x = np.loadtxt("a.txt")
else:
    x = np.load("a.npy").astype(np.float32)
"""
_MOVED = "x = torch.from_numpy(x)\nx = x.to(device)"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(_ARMS + _MOVED, id="by its name"),
        pytest.param(_ARMS + "x = torch.tensor(x).to(device)", id="at once"),
        pytest.param(_ARMS + "y = torch.as_tensor(x)\nx = y.unsqueeze(0).to(device)", id="a view"),
        pytest.param(
            'x = np.zeros(3) if len(sys.argv) > 1 else np.load("a.npy").astype("float32")\n'
            + _MOVED,
            id="in one line",
        ),
        pytest.param(
            _ARMS.replace("else:", 'elif sys.argv[1] == "rows":\n    x = np.ones(3, "f")\nelse:')
            + _MOVED,
            id="one of three",
        ),
    ],
)
def test_one_way_is_enough(cli: Cli, project: Path, text: str) -> None:
    assert _level(cli, project, text) == "unsafe"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(_ARMS + "x = torch.from_numpy(x).float()\nx = x.to(device)", id="cast"),
        pytest.param(_ARMS + f"x = x.astype(np.float32)\n{_MOVED}", id="cast before"),
        pytest.param(_ARMS + "x = torch.from_numpy(x)\nx = x.float().to(device)", id="cast there"),
        pytest.param(
            _ARMS.replace('loadtxt("a.txt")', 'loadtxt("a.txt", dtype=np.float32)') + _MOVED,
            id="float32 on both",
        ),
        pytest.param(
            _ARMS.replace('sys.argv[1] == "text"', 'device.type == "cuda"') + _MOVED,
            id="on CUDA alone",
        ),
    ],
)
def test_what_is_float32_on_a_mac_is_safe(cli: Cli, project: Path, text: str) -> None:
    assert _level(cli, project, text) == "safe"


def _level(cli: Cli, project: Path, text: str) -> str:
    (project / "program.py").write_text(_PROGRAM.format(text))
    ran = cli("check", "--select", "MPS103", "--output-format", "json", "program.py")
    found = [item for item in json.loads(ran.out) if item["location"]["row"] == 6]
    return str(found[0]["fix"]["applicability"])
