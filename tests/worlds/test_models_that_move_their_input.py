"""A model that moves what it is given may be given tensors of another device: its forward pass, or
what that hands them on to, brings them where it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

_HEAD = """import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"


def to_gpu(x):
    return x.to(device)


def counted(x):
    return x.shape[0]


class Base(nn.Module):
    def forward(self, x):
        {forward}


class Model(Base):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(3, 3)

    def prepare(self, *inputs, **named):
        return inputs[0].to(device)

    def again(self, y):
        return self.prepare(y)

    def made(self, number):
        return torch.zeros(number).to(device)

    def unmoved(self, x):
        return x
"""
_USED = """

model = Model().to(device)
for _ in range(3):
    batch = torch.randn(2, 3)
    print(model(batch))
"""
_MOVING = [
    "return self.net(self.prepare(x))",
    "return self.net(self.prepare(x=x))",
    "return self.net(self.again(x))",
    "return self.net(self.prepare(*x))",
    "return self.net(to_gpu(x))",
]
_LEAVING = [
    "return self.net(x)",
    "return self.net(self.unmoved(x)) + self.made(3)",
    "return self.net(x) + counted(x)",
]


def _levels(cli: Cli) -> set[str]:
    ran = cli("check", "--select", "MPS103", "--output-format", "json", ".")
    return {row["fix"]["applicability"] for row in json.loads(ran.out)}


@pytest.mark.parametrize("forward", _MOVING)
def test_a_choice_of_mps_is_safe_where_it_moves_its_input(
    cli: Cli, project: Path, forward: str
) -> None:
    (project / "a.py").write_text(_HEAD.format(forward=forward) + _USED)
    assert _levels(cli) == {"safe"}


@pytest.mark.parametrize("forward", _LEAVING)
def test_it_is_in_doubt_where_the_input_stays(cli: Cli, project: Path, forward: str) -> None:
    (project / "a.py").write_text(_HEAD.format(forward=forward) + _USED)
    assert _levels(cli) == {"unsafe"}


def test_a_base_of_another_file_may_call_what_moves_it(cli: Cli, project: Path) -> None:
    text = _HEAD.format(forward=_MOVING[0]) + _USED
    start, end = text.index("class Base"), text.index("class Model")
    (project / "base.py").write_text(f"from torch import nn\n\n\n{text[start:end]}")
    (project / "a.py").write_text(f"from base import Base\n{text[:start]}{text[end:]}")
    assert _levels(cli) == {"safe"}
