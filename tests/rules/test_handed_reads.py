"""A helper of the file reads what steps of training hand it, whatever it is called there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile
from tests.conftest import Cli

PROGRAM = """\
import torch

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")

{helper}


def train(model, loader, optimizer):
    for i, x in enumerate(loader):
        loss = model(x.to(device)).mean()
        loss.backward()
        optimizer.step()
        {call}
"""
METER = """\
class Meter:
    def __init__(self):
        self.sum = 0.0

    def update(self, value):
        self.sum += float(value)


meter = Meter()
"""
SHOW = "def show(t):\n    print({})\n"
TABLE = "def show({}):\n    print({{k: v.item() for k, v in d.items()}})\n"
OBJECT = "class Show:\n    def __call__(self, t):\n        print(t.item())\n\n\nshow = Show()\n"


def codes(helper: str, call: str) -> list[str]:
    program = PROGRAM.format(helper=helper, call=call)
    found = lint(SourceFile("program.py", program.encode()), Settings(select=("MPS303", "MPS305")))
    return [finding.code for finding in found]


@pytest.mark.parametrize(
    ("helper", "call", "code"),
    [
        ("def number(t):\n    return float(t)", "print(number(loss))", "MPS303"),
        (METER, "meter.update(loss)", "MPS303"),
        (SHOW.format('f"{t:.3f}"'), "show(loss)", "MPS305"),
        (SHOW.format('"%.3f" % t'), "show(loss)", "MPS305"),
        (SHOW.format('"loss " + str(t)'), "show(loss)", "MPS305"),
        ("", 'print("loss " + str(loss))', "MPS305"),
        (TABLE.format("d"), 'show({"loss": loss})', "MPS303"),
        (TABLE.format("**d"), "show(loss=loss)", "MPS303"),
        ("def show(*ts):\n    print([t.item() for t in ts])\n", "show(loss, loss)", "MPS303"),
        (OBJECT, "show(loss)", "MPS303"),
    ],
)
def test_what_a_helper_reads_of_a_tensor_that_it_is_handed_is_told(
    helper: str, call: str, code: str
) -> None:
    assert codes(helper, call) == [code]


@pytest.mark.parametrize(
    ("helper", "call"),
    [
        ("def number(t):\n    return float(t)", "print(number(i))"),
        (METER, "meter.update(i)"),
        (METER, "meter.update(i); meter.update(loss)"),
        (SHOW.format('f"{t:.3f}"'), "show(i)"),
        (SHOW.format('f"{t.shape}"'), "show(loss)"),
        ("", 'print("turn " + str(i))'),
        (TABLE.format("d"), 'show({"turn": i})'),
        (TABLE.format("**d"), "show(turn=i)"),
        (SHOW.format('f"{t:.3f}"'), "if i % 50 == 0: show(loss)"),
    ],
)
def test_numbers_and_what_is_read_now_and_then_are_told_of_nothing(helper: str, call: str) -> None:
    assert codes(helper, call) == []


@pytest.mark.parametrize(
    ("helper", "call", "rows"),
    [
        (METER, "meter.update(loss)", [15]),
        (METER, "meter.update(i)", []),
    ],
)
def test_a_helper_of_another_file_may_count_what_it_is_handed(
    cli: Cli, project: Path, helper: str, call: str, rows: list[int]
) -> None:
    imported = "from helper import Meter\n\nmeter = Meter()"
    (project / "pyproject.toml").write_text("")
    (project / "helper.py").write_text("import torch\n\n\n" + helper)
    (project / "program.py").write_text(PROGRAM.format(helper=imported, call=call))
    ran = cli("check", "--no-cache", "--select", "MPS303", "--output-format", "json", "program.py")
    assert [found["location"]["row"] for found in json.loads(ran.out)] == rows


@pytest.mark.parametrize(
    ("text", "rows"), [("{k: v.item() for k, v in d.items()}", [13]), ("d", [])]
)
def test_a_helper_in_a_file_that_never_speaks_of_torch_is_told_where_it_is_called(
    cli: Cli, project: Path, text: str, rows: list[int]
) -> None:
    (project / "pyproject.toml").write_text("")
    (project / "helper.py").write_text(f"def show(d):\n    numbers = {text}\n    print(numbers)\n")
    program = PROGRAM.format(helper="from helper import show", call='show({"loss": loss})')
    (project / "program.py").write_text(program)
    ran = cli("check", "--no-cache", "--select", "MPS303", "--output-format", "json", ".")
    assert [found["location"]["row"] for found in json.loads(ran.out)] == rows
