"""A device that a class is told CUDA by default is the one of its methods, unless somebody in sight
asks for another: then it may be the CPU beside what these methods send to CUDA."""

from __future__ import annotations

import pytest

from mpslint.fixing.fixer import fix_source
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

SAMPLER = """import torch
from torch import nn


class Sampler:
    def __init__(self, net, device="cuda"):
        self.device = device
        self.net = net.to(device)

    def draw(self, n):
        return self.net(torch.randn(n, 2).cuda())


"""
HOST = "class Host(Sampler):\n    def __init__(self, net):\n        super().__init__(net, 'cpu')\n"
MADE = "s = Sampler(nn.Linear(2, 2))\n"


def fixed(rest: str) -> str:
    return fix_source(SourceFile("program.py", (SAMPLER + rest).encode()), Settings()).text


def test_it_is_that_of_its_methods() -> None:
    assert "torch.randn(n, 2).to(self.device)" in fixed(MADE)


@pytest.mark.parametrize(
    "rest",
    [
        HOST + MADE,
        "given = {'device': 'cpu'}\ns = Sampler(nn.Linear(2, 2), **given)\n",
        "s = Sampler(nn.Linear(2, 2), 'cpu')\n",
    ],
)
def test_it_is_none_of_theirs_where_another_is_asked_for(rest: str) -> None:
    assert "torch.randn(n, 2).to(self.device)" not in fixed(rest)
