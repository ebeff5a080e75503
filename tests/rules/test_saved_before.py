"""What a program has just written itself it reads on the same machine, however it names it."""

from __future__ import annotations

import json

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.opening import open_source

SETTINGS = Settings(select=("MPS413",))
HEAD = """import os
import torch
from pathlib import Path

model = torch.nn.Linear(4, 2).to("cuda")"""


def told(*cells: str) -> bool:
    """Whether a notebook of these cells is told where it loads."""
    notebook = {
        "cells": [
            {"cell_type": "code", "metadata": {}, "outputs": [], "source": cell}
            for cell in (HEAD, *cells)
        ],
        "metadata": {"language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    source = open_source("program.ipynb", json.dumps(notebook).encode())
    return bool(lint(source, SETTINGS))


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ('folder / "model.pth"', 'folder / "model.pth"'),
        ('folder / "model.pth"', '(folder / "model.pth").as_posix()'),
        ("str(where)", "where"),
        ('os.path.join(folder, "model.pth")', 'f"{folder}/model.pth"'),
        ('"run/model.pth"', "TEXT"),
        ('"run/" + NAME', '"run/model.pth"'),
        ('"./run/model.pth"', 'Path("run") / "model.pth"'),
    ],
)
def test_a_cell_reads_what_a_cell_before_it_wrote(written: str, read: str) -> None:
    names = (
        'folder = Path(os.environ["RUN"])\nwhere = folder / "a.pth"\nTEXT = "run/model.pth"\n'
        'NAME = "model.pth"'
    )
    save = f"torch.save(model.state_dict(), {written})"
    load = f"model.load_state_dict(torch.load({read}))"
    assert not told(names, save, load)
    assert told(names, load, save)


def test_another_file_may_come_from_cuda() -> None:
    save = 'torch.save(model.state_dict(), "run/model.pth")'
    assert told(save, 'model.load_state_dict(torch.load("run/best_model.pth"))')


@pytest.mark.parametrize(
    "save",
    [
        'trainer.save(path="run/", model_filename="model.pth", save_state_dict=True)',
        'trainer.save_checkpoint("run/model.pth")',
    ],
)
def test_who_saves_is_told_the_file_that_is_read(save: str) -> None:
    load = 'model.load_state_dict(torch.load("run/model.pth"))'
    trainer = "from engine import Trainer\n\ntrainer = Trainer(model)"
    train = "torch.save(model.state_dict(), 'other.pth')"
    assert not told(trainer, train, save, load)
    assert told(trainer, train, load, save)


@pytest.mark.parametrize(
    "step", ['trainer.save("run/", "last.pth")', 'trainer.restore("run/model.pth")']
)
def test_who_is_told_another_file_or_does_not_save_has_not_written_it(step: str) -> None:
    load = 'model.load_state_dict(torch.load("run/model.pth"))'
    trainer = "from engine import Trainer\n\ntrainer = Trainer(model)"
    assert told(trainer, "torch.save(model.state_dict(), 'other.pth')", step, load)


TRAINING = """least = float("inf")
for epoch in range(10):
    loss = train(model)
    if {test}:
        {kept}
        torch.save(model.state_dict(), "best.pth")
    else:
        waited += 1
        if waited > 3:
            model.load_state_dict(torch.load("best.pth"))
            break"""


def test_the_best_turn_so_far_is_one_of_this_run() -> None:
    assert not told(TRAINING.format(test="loss < least", kept="least = loss"))
    assert not told(TRAINING.format(test="epoch == 0 or loss < least", kept="least = loss"))


def test_an_arm_that_is_for_other_runs_has_not_written_before() -> None:
    assert told(TRAINING.format(test="not resumed", kept="least = loss"))
    assert told(TRAINING.format(test="loss < least", kept="print(loss)"))
