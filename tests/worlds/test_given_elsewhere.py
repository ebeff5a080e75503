"""What the other files of a project give a function decides what it does on a Mac: a flag that all
of them answer by the machine raises nothing there, and one that nobody sets is as its default says.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

_TRAINER = """
import torch


class Trainer:
    def __init__(self, model, fast, log):
        super(Trainer, self).__init__()
        self.model = model
        self.fast = fast

    def epoch(self, batches):
        for x in batches:
            if self.fast:
                x = x.cuda()
            self.model(x)


def moved(x, fast=True):
    return x.cuda() if fast else x


def epoch(batches, model, show=False):
    for x in batches:
        model(x)
        if show:
            print(torch.cuda.max_memory_allocated())
"""
_USE = """
import torch
from trainer import Trainer, epoch, moved

on = {answer}
model = torch.nn.Linear(2, 2)
Trainer(model, on, None).epoch([torch.ones(2)])
moved(torch.ones(2), fast=on)
epoch([torch.ones(2)], model{shown})
"""
_BY_MACHINE = "torch.cuda.is_available()"
_RAISES = "raises AssertionError"
_UNUSED = "a Mac's GPU is never used"


def _messages(cli: Cli, name: str = "trainer.py") -> list[tuple[str, str]]:
    ran = cli("check", "--output-format", "json", ".")
    return [
        (item["code"], item["message"])
        for item in json.loads(ran.out)
        if Path(item["filename"]).name == name
    ]


def _project(project: Path, answer: str = _BY_MACHINE, shown: str = "") -> None:
    (project / "README.md").write_text("A trainer.\n")
    (project / "trainer.py").write_text(_TRAINER)
    (project / "use.py").write_text(_USE.format(answer=answer, shown=shown))


def test_a_flag_that_all_callers_answer_by_the_machine_raises_nothing(
    cli: Cli, project: Path
) -> None:
    _project(project)
    found = [message for code, message in _messages(cli) if code == "MPS102"]
    assert found
    assert all(message.startswith(_UNUSED) for message in found)


@pytest.mark.parametrize("answer", ["True", "input() == 'gpu'"])
def test_a_flag_that_a_caller_sets_by_himself_raises(cli: Cli, project: Path, answer: str) -> None:
    _project(project, answer)
    found = [message for code, message in _messages(cli) if code == "MPS102"]
    assert len(found) == 2
    assert all(_RAISES in message for message in found)


def test_one_caller_who_leaves_the_default_is_enough(cli: Cli, project: Path) -> None:
    _project(project)
    (project / "more.py").write_text("from trainer import moved\n\nmoved(1)\n")
    assert [code for code, message in _messages(cli) if _RAISES in message] == ["MPS102"]


def test_who_hands_a_class_on_may_make_it_with_anything(cli: Cli, project: Path) -> None:
    _project(project)
    (project / "more.py").write_text("from trainer import Trainer\n\nKINDS = [Trainer]\n")
    assert [code for code, message in _messages(cli) if _RAISES in message] == ["MPS102"]


def test_what_others_install_may_be_left_to_its_default_but_not_what_each_must_say(
    cli: Cli, project: Path
) -> None:
    _project(project)
    (project / "setup.py").write_text("from setuptools import setup\n\nsetup(name='trainer')\n")
    (project / "README.md").write_text("Install it: `pip install trainer`\n")
    assert sum(_RAISES in message for _, message in _messages(cli)) == 1
    (project / "use.py").write_text("import trainer\n\nprint(trainer)\n")
    assert sum(_RAISES in message for _, message in _messages(cli)) == 2


def test_a_flag_that_nobody_sets_is_as_its_default_says(cli: Cli, project: Path) -> None:
    _project(project)
    assert "MPS203" not in [code for code, _ in _messages(cli)]


def test_a_flag_that_somebody_sets_is_not(cli: Cli, project: Path) -> None:
    _project(project, shown=", show=True")
    assert "MPS203" in [code for code, _ in _messages(cli)]


def test_what_asks_a_tensor_leaves_its_partner_behind(cli: Cli, project: Path) -> None:
    _project(project, "torch.ones(2).to(input()).is_cuda")
    assert sum(_RAISES in message for _, message in _messages(cli)) == 2


@pytest.mark.parametrize("setting", ["trainer.fast = True", "trainer.fast: bool = True"])
def test_who_sets_the_flag_of_an_object_has_it_on(cli: Cli, project: Path, setting: str) -> None:
    _project(project)
    (project / "more.py").write_text(f"from use import trainer\n\n{setting}\n")
    assert [code for code, message in _messages(cli) if _RAISES in message] == ["MPS102"]


def test_a_file_that_sets_the_flag_of_an_object_of_its_own_class_has_it_on(
    cli: Cli, project: Path
) -> None:
    _project(project)
    with (project / "trainer.py").open("a") as file:
        file.write("\n\ndef hasten(trainers):\n    for one in trainers:\n        one.fast = True\n")
    assert [code for code, message in _messages(cli) if _RAISES in message] == ["MPS102"]


_CONFIGURED = """
import torch


def start(options, model):
    if options.use_cuda:
        model = model.cuda()
    return step(options, model)


def step(options, model):
    x = torch.ones(2)
    if options.use_cuda:
        x = x.cuda()
    return model(x)
"""
_CONFIGURING = """
import argparse

import torch
from trainer import start

parser = argparse.ArgumentParser()
parser.add_argument("--no_cuda", action="store_true")
parser.add_argument("--width", default=2)
options = parser.parse_args()
{setting}
start(options, torch.nn.Linear(2, options.width))
"""


@pytest.mark.parametrize(
    ("setting", "raising"),
    [
        ("options.use_cuda = torch.cuda.is_available() and not options.no_cuda", 0),
        ("options.use_cuda = not options.no_cuda", 2),
        ("print(options)", 2),
    ],
)
def test_options_that_are_handed_on_hold_what_is_set_in_them(
    cli: Cli, project: Path, setting: str, raising: int
) -> None:
    (project / "README.md").write_text("A trainer.\n")
    (project / "trainer.py").write_text(_CONFIGURED)
    (project / "use.py").write_text(_CONFIGURING.format(setting=setting))
    found = [message for code, message in _messages(cli) if code == "MPS102"]
    assert len(found) == 2
    assert sum(_RAISES in message for message in found) == raising
