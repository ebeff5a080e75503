"""What a class defines in place of a method that its base calls at each step is a part of that."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

BASE = """\
import torch
from torch import nn


class Trainer:
    def __init__(self, model, loader, device):
        self.device = device
        self.model = model.to(device)
        self.loader = loader
        self.criterion = nn.MSELoss()
        self.optimizer = torch.optim.Adam(model.parameters())

    def run(self):
        for epoch in range(10):
            for step, (x, y) in enumerate(self.loader):
                x, y = x.to(self.device), y.to(self.device)
                loss = self.loss_of(x, y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.after_step(loss, step)
                if step % 100 == 0:
                    self.now_and_then(loss)
            self.after_epoch(loss)

    def loss_of(self, x, y):
        return self.compute_loss(self.model(x), y)

    def compute_loss(self, guess, y):
        return self.criterion(guess, y)

    def after_step(self, loss, step):
        pass

    def now_and_then(self, loss):
        pass

    def after_epoch(self, loss):
        pass
"""
MINE = """\
import torch
from torch.nn import functional as F
from {base} import {name}
from scores import score


class Mine({name}):
    {method}
"""
PROGRAM = """\
import torch
from mine import Mine

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
Mine(torch.nn.Linear(3, 3), [], device).run()
"""
BETWEEN = "from base import Trainer\n\n\nclass Between(Trainer):\n    extra = 1\n"


def told(cli: Cli, folder: Path, method: str, base: str = "base", name: str = "Trainer") -> bool:
    (folder / "pyproject.toml").touch()
    (folder / "base.py").write_text(BASE)
    (folder / "between.py").write_text(BETWEEN)
    (folder / "scores.py").write_text("def score(guess, y):\n    return (guess - y).abs().mean()\n")
    (folder / "program.py").write_text(PROGRAM)
    (folder / "mine.py").write_text(MINE.format(method=method, base=base, name=name))
    ran = cli("check", "--no-cache", "--select", "MPS303", "--output-format", "json", "mine.py")
    return bool(json.loads(ran.out))


@pytest.mark.parametrize(
    "method",
    [
        "def after_step(self, loss, step):\n        self.total += loss.item()",
        "def compute_loss(self, guess, y):\n"
        "        loss = F.l1_loss(guess, y)\n"
        "        self.total += loss.item()\n"
        "        return loss",
        "def compute_loss(self, guess, y):\n"
        "        extra = score(guess, y)\n"
        "        self.total += extra.item()\n"
        "        return extra",
    ],
)
@pytest.mark.parametrize(("base", "name"), [("base", "Trainer"), ("between", "Between")])
def test_a_method_that_a_base_calls_at_each_step_is_a_part_of_the_step(
    cli: Cli, project: Path, method: str, base: str, name: str
) -> None:
    assert told(cli, project, method, base, name)


@pytest.mark.parametrize(
    "method",
    [
        "def now_and_then(self, loss):\n        self.total += loss.item()",
        "def after_epoch(self, loss):\n        self.total += loss.item()",
        "def after_step(self, loss, step):\n        self.steps += step.item()",
        "def after_step(self, loss, step):\n"
        "        if step % 50 == 0:\n"
        "            self.total += loss.item()",
        "def report(self, loss):\n        self.total += loss.item()",
    ],
)
def test_what_a_base_calls_rarely_or_never_is_no_step(cli: Cli, project: Path, method: str) -> None:
    assert not told(cli, project, method)
