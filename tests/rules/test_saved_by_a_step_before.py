"""A function that is only called behind another one reads what that has just saved."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.checking.linter import lint
from mpslint.project.neighbours import Neighbours
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

FUNCTIONS = """\
import sys
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(2, 3).to(device)


def train():
    for _ in range(3):
        torch.save(model.state_dict(), "kept/model.pth")


def test():
    model.load_state_dict(torch.load("kept/model.pth"))


"""
METHODS = """\
import torch
from torch import nn


class Job:
    def __init__(self, path, device):
        self.path = path
        self.model = nn.Linear(2, 3).to(device)

    def fit(self):
        torch.save(self.model.state_dict(), self.path)

    def check(self):
        self.model.load_state_dict(torch.load(self.path))


job = Job("model.pth", torch.device("cuda" if torch.cuda.is_available() else "cpu"))
other = Job("other.pth", torch.device("cuda" if torch.cuda.is_available() else "cpu"))
"""


def codes(folder: Path, program: str, **others: str) -> list[str]:
    (folder / "README.md").write_text("A program.\n")
    for name, text in {"program": program, **others}.items():
        (folder / f"{name}.py").write_text(text)
    path, settings = folder / "program.py", Settings(select=("MPS413",))
    source = SourceFile(str(path), path.read_bytes())
    return [finding.code for finding in lint(source, settings, elsewhere=Neighbours(settings))]


@pytest.mark.parametrize(
    "program",
    [
        FUNCTIONS + "train()\ntest()\n",
        FUNCTIONS + "for run in range(3):\n    train()\n    test()\n",
        FUNCTIONS + "if len(sys.argv) > 1:\n    train()\n    test()\n",
        METHODS + "job.fit()\njob.check()\n",
    ],
)
def test_what_was_saved_before_each_call_comes_from_this_machine(
    tmp_path: Path, program: str
) -> None:
    assert codes(tmp_path, program) == []


@pytest.mark.parametrize(
    "program",
    [
        FUNCTIONS + "test()\ntrain()\n",
        FUNCTIONS + "if len(sys.argv) > 1:\n    train()\ntest()\n",
        FUNCTIONS + "test()\ntrain()\ntest()\n",
        METHODS + "job.fit()\nother.check()\n",
    ],
)
def test_one_call_without_the_step_before_is_enough(tmp_path: Path, program: str) -> None:
    assert codes(tmp_path, program) == ["MPS413"]


def test_another_file_may_call_it_without(tmp_path: Path) -> None:
    other = "from program import test\n\ntest()\n"
    assert codes(tmp_path, FUNCTIONS + "train()\ntest()\n", other=other) == ["MPS413"]
