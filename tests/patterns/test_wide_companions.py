"""What is made narrower on MPS is so together with what it is used with: a model that is cast to
float64 where it lies, and that nothing moves, would meet float32 on another device."""

from __future__ import annotations

import pytest

from mpslint.fixing.fixer import fix_source
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

CHOSEN = """\
import torch
from torch import nn

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Linear(3, 3)

    def forward(self, x):
        return self.encode(x)


def train(net, x):
    return net(x)


"""
MADE = "net = Net().double()\n"
CAST = "x = torch.randn(2, 3).double().to(device)\n"
NARROWED = "x = torch.randn(2, 3).to(\n    device, dtype=torch.float32 if device.type == "
SETTINGS = Settings(select=("MPS401",))


def fixed(text: str) -> str:
    source = SourceFile("run.py", text.encode())
    return fix_source(source, SETTINGS, unsafe=False).source.text


@pytest.mark.parametrize(
    "text",
    [
        MADE + CAST + "net(x)\n",
        MADE + CAST + "net.encode(x)\n",
        MADE + CAST + "train(net, x)\n",
        MADE + CAST + "train(x=x, net=net)\n",
        MADE + "net(torch.randn(2, 3).double().to(device))\n",
        MADE + "x = torch.zeros(2, 3, dtype=torch.float64, device=device)\nnet(x)\n",
        "net = Net().double().eval()\n" + CAST + "net(x)\n",
        "net = Net().to(torch.float64)\n" + CAST + "net(x)\n",
        "net = Net()\nnet.double()\n" + CAST + "net(x)\n",
        CAST + "w = torch.ones(3).double()\ntorch.mul(x, w)\n",
        """\
class Runner:
    def __init__(self):
        self.net = Net().double()

    def step(self, x):
        x = x.double().to(device)
        return self.net(x)
""",
    ],
)
def test_what_meets_a_model_that_stays_wide_is_not_made_narrower(text: str) -> None:
    assert fixed(CHOSEN + text) == CHOSEN + text


@pytest.mark.parametrize(
    "text",
    [
        MADE + CAST + "print(x)\n",
        MADE + "net = Net().to(device)\n" + CAST + "net(x)\n",
        "net = Net().double().to(device)\n" + CAST + "net(x)\n",
        "teacher = Net().double()\nnet = Net().to(device)\n" + CAST + "net(x)\n",
        MADE + CAST + "net(x.cpu().double())\n",
    ],
)
def test_what_meets_nothing_wide_is_made_narrower(text: str) -> None:
    assert NARROWED in fixed(CHOSEN + text)
