"""A meter that makes numbers of tensors is as hot as the steps of training that give it some."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

_METERS = """import torch


class Meters:
    def __init__(self):
        self.sums = {}

    def update(self, **numbers):
        for name, number in numbers.items():
            if isinstance(number, torch.Tensor):
                number = number.item()
            self.sums[name] = self.sums.get(name, 0.0) + number


class Logger:
    def log(self, key, value, step, n=1):
        if type(value) == torch.Tensor:
            value = value.item()
        print(key, value / n, step)

    def show(self, value):
        print(value.item())
"""
_PROGRAM = """import torch
from meters import Meters

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torch.nn.Linear(4, 2).to(device)
optimizer = torch.optim.SGD(model.parameters())


def train(loader, logger, table, meters={meters}):
    {made}
    for step, (x, y) in enumerate(loader):
        loss = torch.nn.functional.cross_entropy(model(x.to(device)), y.to(device))
        loss.backward()
        optimizer.step()
        {calling}
"""


def rows(cli: Cli, project: Path, calling: str, made: str = "pass", meters: str = "None") -> list:
    """The lines of the file of meters that are told beside such a program."""
    (project / "pyproject.toml").write_text("")
    (project / "meters.py").write_text(_METERS)
    (project / "train.py").write_text(_PROGRAM.format(calling=calling, made=made, meters=meters))
    ran = cli("check", "--no-cache", "--select", "MPS303", "--output-format", "json", "meters.py")
    return [item["location"]["row"] for item in json.loads(ran.out)]


@pytest.mark.parametrize(
    ("calling", "made", "told"),
    [
        ("meters.update(loss=loss)", "meters = Meters()", [11]),
        ("meters.update(lr=0.1, **{'loss': loss})", "meters = Meters()", [11]),
        ("logger.log('loss', loss, step)", "pass", [18]),
        ("logger.log('loss', value=loss, step=step)", "pass", [18]),
    ],
    ids=["made here", "as a table", "handed over", "by name"],
)
def test_a_method_that_steps_of_training_give_tensors_waits_at_each(
    cli: Cli, project: Path, calling: str, made: str, told: list[int]
) -> None:
    assert rows(cli, project, calling, made) == told


@pytest.mark.parametrize(
    ("calling", "made"),
    [
        ("meters.update(loss=loss.item())", "meters = Meters()"),
        ("meters.update(step=step)", "meters = Meters()"),
        ("table.update(loss=loss)", "table = dict()"),
        ("table.update(loss=loss)", "pass"),
        ("logger.log('loss', loss)", "pass"),
        ("logger.log(loss, 'loss', step)", "pass"),
        ("logger.show(loss)", "pass"),
        ("if step % 50 == 0: logger.log('loss', loss, step)", "pass"),
    ],
    ids=[
        "read before",
        "a number",
        "a dictionary",
        "what may be a dictionary",
        "that it does not fit",
        "to another place",
        "that asks for no type",
        "now and then",
    ],
)
def test_one_that_is_given_none_is_not_told(
    cli: Cli, project: Path, calling: str, made: str
) -> None:
    assert rows(cli, project, calling, made) == []


def test_what_is_told_where_it_is_read_is_not_told_where_it_is_called(
    cli: Cli, project: Path
) -> None:
    rows(cli, project, "meters.update(loss=loss)", "meters = Meters()")
    ran = cli("check", "--no-cache", "--select", "MPS303", "--output-format", "json", ".")
    found = [(Path(i["filename"]).name, i["location"]["row"]) for i in json.loads(ran.out)]
    assert found == [("meters.py", 11)]


@pytest.mark.parametrize(("main", "told"), [("train([], None, None)", [11]), ("pass", [])])
def test_a_module_beside_a_program_in_a_package_finds_what_the_program_finds(
    cli: Cli, project: Path, main: str, told: list[int]
) -> None:
    calling = "meters.update(loss=loss)"
    folder = project / "examples"
    folder.mkdir()
    (project / "pyproject.toml").write_text("")
    (folder / "__init__.py").write_text("")
    (folder / "meters.py").write_text(_METERS)
    (folder / "engine.py").write_text(
        _PROGRAM.format(calling=calling, made="meters = Meters()", meters="None")
    )
    head = 'if __name__ == "__main__":\n    ' if told else "def start():\n    "
    (folder / "main.py").write_text(f"from engine import train\n\n{head}{main}\n")
    ran = cli("check", "--no-cache", "--select", "MPS303", "--output-format", "json", "examples")
    found = [(Path(i["filename"]).name, i["location"]["row"]) for i in json.loads(ran.out)]
    assert found == [("meters.py", row) for row in told]
