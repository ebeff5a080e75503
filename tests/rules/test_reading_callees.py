"""A function of another file that reads a number makes the loop wait that calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

_SCORES = """import torch


def accuracy(scores, y, threshold=0.5):
    guesses = scores > threshold
    hits = torch.sum(guesses == y)
    return float(hits) / y.numel()


def tensor_accuracy(scores, y):
    return (scores.argmax(1) == y).float().mean()


def of_shapes(scores, y):
    return float(scores.shape[0]) / int(y.size(0))


def now_and_then(scores, y, step):
    if step % 100 == 0:
        return (scores == y).sum().item()
    return 0.0


class Meters:
    def __init__(self):
        self.sums = {}

    def update(self, **numbers):
        for name, number in numbers.items():
            if isinstance(number, torch.Tensor):
                number = number.item()
            self.sums[name] = self.sums.get(name, 0.0) + number

    def keep(self, **numbers):
        self.sums.update(numbers)

    def count(self, scores, size=1):
        self.sums["right"] = scores.sum().item() / size
"""
_PROGRAM = """import torch
{imported}

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torch.nn.Linear(4, 2).to(device)
optimizer = torch.optim.SGD(model.parameters())


def train(loader):
    total = 0.0
    for x, y in loader:
        y = y.to(device)
        scores = model(x.to(device))
        loss = torch.nn.functional.cross_entropy(scores, y)
        loss.backward()
        optimizer.step()
        total += {call}
    return total


@torch.no_grad()
def evaluate(loader):
    total = 0.0
    for x, y in loader:
        scores = model(x.to(device))
        total += {call}
    return total
"""


@pytest.mark.parametrize(
    ("imported", "call", "rows"),
    [
        ("from scores import accuracy", "accuracy(scores, y)", [26]),
        ("from scores import *", "accuracy(scores, y)", [26]),
        ("import scores as s", "s.accuracy(scores, y)", [26]),
        ("from scores import accuracy", "accuracy(scores.cpu(), y.cpu())", []),
        ("from scores import tensor_accuracy", "tensor_accuracy(scores, y)", []),
        ("from scores import of_shapes", "of_shapes(scores, y)", []),
        ("from scores import now_and_then", "now_and_then(scores, y, 3)", []),
        ("from elsewhere import accuracy", "accuracy(scores, y)", []),
    ],
)
def test_a_call_waits_for_what_the_function_reads(
    cli: Cli, project: Path, imported: str, call: str, rows: list[int]
) -> None:
    (project / "pyproject.toml").write_text("")
    (project / "scores.py").write_text(_SCORES)
    (project / "program.py").write_text(_PROGRAM.format(imported=imported, call=call))
    ran = cli("check", "--no-cache", "--select", "MPS303", "--output-format", "json", "program.py")
    assert [found["location"]["row"] for found in json.loads(ran.out)] == rows


@pytest.mark.parametrize(
    ("imported", "call"),
    [
        ("from scores import accuracy", "accuracy(scores, y)"),
        ("from scores import *", "accuracy(scores, y)"),
        ("import scores as s", "s.accuracy(scores, y)"),
    ],
)
def test_what_a_step_of_training_calls_is_told_where_it_reads(
    cli: Cli, project: Path, imported: str, call: str
) -> None:
    (project / "pyproject.toml").write_text("")
    (project / "scores.py").write_text(_SCORES)
    (project / "program.py").write_text(_PROGRAM.format(imported=imported, call=call))
    ran = cli("check", "--no-cache", "--select", "MPS303", "--output-format", "json", "scores.py")
    assert [found["location"]["row"] for found in json.loads(ran.out)] == [7]


_METERS = """import torch
from scores import Meters

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torch.nn.Linear(4, 2).to(device)
optimizer = torch.optim.SGD(model.parameters())


def train(loader, losses_of):
    meters = Meters()
    for x, y in loader:
        scores = model(x.to(device))
        losses = losses_of(scores, y.to(device))
        sum(losses.values()).backward()
        optimizer.step()
        {call}
"""


@pytest.mark.parametrize(
    ("call", "rows"),
    [
        ("meters.update(**losses)", []),  # told where it is read
        ("meters.update(right=scores.mean())", []),
        ("meters.update(size=len(x))", []),
        ("meters.keep(**losses)", []),
        ("meters.count(scores)", [16]),
        ("meters.count(5, size=scores.mean())", []),
    ],
)
def test_a_call_waits_for_what_a_method_reads(
    cli: Cli, project: Path, call: str, rows: list[int]
) -> None:
    (project / "pyproject.toml").write_text("")
    (project / "scores.py").write_text(_SCORES)
    (project / "program.py").write_text(_METERS.format(call=call))
    ran = cli("check", "--no-cache", "--select", "MPS303", "--output-format", "json", "program.py")
    assert [found["location"]["row"] for found in json.loads(ran.out)] == rows


_TRAINER = """import torch
import scores
from scores import Hits, Meters

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Trainer:
    def __init__(self, model, optimizer, given=None):
        self.model = model.to(device)
        self.optimizer = optimizer
        self.right = 0.0
        {kept}

    def train(self, loader):
        for x, y in loader:
            y = y.to(device)
            guessed = self.model(x.to(device))
            loss = torch.nn.functional.cross_entropy(guessed, y)
            loss.backward()
            self.optimizer.step()
            {call}
"""
_HITS = """

class Hits:
    def __init__(self, shown=False):
        self.shown = shown

    def __call__(self, scores, y):
        return (scores.argmax(1) == y).sum().item()

    def show(self, scores):
        if self.shown:
            print(scores.sum().item())
"""
_TOLD = 22


@pytest.mark.parametrize(
    ("kept", "call", "rows"),
    [
        ("self.meters = Meters()", "self.meters.count(guessed)", [_TOLD]),
        ("self.meters = scores.Meters()", "self.meters.count(guessed)", [_TOLD]),
        ("self.hits = Hits()", "self.right += self.hits(guessed, y)", [_TOLD]),
        ("self.meters = Meters()", "self.meters.count(guessed.cpu())", []),
        ("self.meters = Meters()", "self.meters.keep(loss=loss)", []),
        ("self.hits = Hits()", "self.hits.show(guessed)", []),
        ("self.meters = given", "self.meters.count(guessed)", []),
        ("self.meters = Meters()\n        self.meters = given", "self.meters.count(guessed)", []),
    ],
)
def test_an_object_that_a_class_keeps_is_followed_to_what_makes_it(
    cli: Cli, project: Path, kept: str, call: str, rows: list[int]
) -> None:
    (project / "pyproject.toml").write_text("")
    (project / "scores.py").write_text(_SCORES + _HITS)
    (project / "program.py").write_text(_TRAINER.format(kept=kept, call=call))
    ran = cli("check", "--no-cache", "--select", "MPS303", "--output-format", "json", "program.py")
    later = kept.count("\n")
    assert [found["location"]["row"] - later for found in json.loads(ran.out)] == rows
