"""A network that switches mixed precision off, for CUDA alone, in a program of other files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

_NETWORK = """import torch
from torch import nn


class Spectrum(nn.Module):
    def forward(self, x):
        with torch.autocast("cuda", enabled=False):
            return torch.log(x.float())
"""
_PARTS = """from network import Spectrum


def build():
    return Spectrum()
"""
_PROGRAM = """from loop import train
from parts import build

train(build(), [])
"""
_LOOP = """import torch


def train(model, loader):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    for x in loader:
        with {cast}:
            loss = model(x.to(device)).sum()
        loss.backward()
"""


def told(cli: Cli, project: Path, files: dict[str, str]) -> list[int]:
    (project / "pyproject.toml").write_text("")
    for name, text in files.items():
        (project / name).write_text(text)
    ran = cli("check", "--no-cache", "--select", "MPS208", "--output-format", "json", "network.py")
    return [item["location"]["row"] for item in json.loads(ran.out)]


@pytest.mark.parametrize(
    ("cast", "rows"),
    [
        ('torch.autocast("cuda")', [7]),
        ("torch.autocast(device.type)", [7]),
        ("torch.cuda.amp.autocast(enabled=model.half)", [7]),
        ('torch.autocast("cuda", enabled=False)', []),
        ('torch.autocast("cuda", dtype=torch.float32)', []),
        ('torch.autocast("cuda", enabled=device.type == "cuda")', []),
        ("torch.no_grad()", []),
    ],
)
def test_what_a_loop_of_the_same_program_switches_on_stays_on(
    cli: Cli, project: Path, cast: str, rows: list[int]
) -> None:
    files = {"network.py": _NETWORK, "parts.py": _PARTS, "main.py": _PROGRAM}
    assert told(cli, project, {**files, "loop.py": _LOOP.format(cast=cast)}) == rows


def test_a_loop_of_another_program_says_nothing(cli: Cli, project: Path) -> None:
    loop = _LOOP.format(cast='torch.autocast("cuda")')
    alone = "from parts import build\n\nbuild()\n"
    other = "from loop import train\n\ntrain(None, [])\n"
    files = {"network.py": _NETWORK, "parts.py": _PARTS, "main.py": alone, "other.py": other}
    assert told(cli, project, {**files, "loop.py": loop}) == []


def test_what_another_network_switches_on_is_on_inside_that_one(cli: Cli, project: Path) -> None:
    beside = """import torch
from network import Spectrum


class Whole(torch.nn.Module):
    def forward(self, x):
        with torch.autocast("cuda"):
            return x * 2
"""
    main = "from network import Spectrum\nfrom beside import Whole\n\nSpectrum(), Whole()\n"
    files = {"network.py": _NETWORK, "beside.py": beside, "main.py": main}
    assert told(cli, project, files) == []
