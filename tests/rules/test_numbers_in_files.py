"""What a file holds that has no tensor of a device in it needs no `map_location`."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.checking.linter import lint
from mpslint.project.neighbours import Neighbours
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

SETTINGS = Settings(select=("MPS413",))
TRAIN = """
import random
import torch
from transformers import get_linear_schedule_with_warmup

model = torch.nn.Linear(4, 2).to("cuda")
torch.save(model.state_dict(), "weights.pth")


def resume(optimizer, checkpoint, state_file):
    warmup = get_linear_schedule_with_warmup(optimizer, 10, 100)
    steps = torch.optim.lr_scheduler.StepLR(optimizer, 10)
    scaler = torch.cuda.amp.GradScaler()
    {read}
"""


def lines(text: str) -> list[int]:
    return [found.row for found in lint(SourceFile("program.py", text.encode()), SETTINGS)]


@pytest.mark.parametrize(
    ("read", "told"),
    [
        ("optimizer.load_state_dict(torch.load(state_file))", True),
        ("warmup.load_state_dict(torch.load(state_file))", False),
        ("steps.load_state_dict(torch.load(state_file))", False),
        ("scaler.load_state_dict(torch.load(state_file))", False),
        (
            'steps.load_state_dict(torch.load(state_file)["steps"]);'
            ' scaler.load_state_dict(torch.load(state_file)["scaler"])',
            False,
        ),
        ('return torch.load(checkpoint + "/training_args.bin").max_length', False),
        ('return torch.load(checkpoint + "/optimizer.bin").max_length', True),
        ("return torch.from_numpy(torch.load(checkpoint)).cuda()", False),
        ("return torch.nn.Parameter(torch.load(checkpoint)).cuda()", True),
        (
            'checkpoint_rng = torch.load(checkpoint); random.setstate(checkpoint_rng["python"]);'
            ' torch.random.set_rng_state(checkpoint_rng["cpu"]);'
            ' torch.cuda.set_rng_state_all(checkpoint_rng["cuda"])',
            False,
        ),
        (
            'checkpoint_rng = torch.load(checkpoint); random.setstate(checkpoint_rng["python"]);'
            ' optimizer.load_state_dict(checkpoint_rng["optimizer"])',
            True,
        ),
    ],
)
def test_what_takes_all_that_is_read_says_that_it_is_numbers(read: str, told: bool) -> None:
    text = TRAIN.format(read=read)
    assert bool(lines(text)) is told


READER = """
import torch


def choose(model):
    torch.save({"net": model.cuda().state_dict()}, "model.pkl")
    checkpoint = torch.load(f"rank_{model.name}/results.pth")
    return [checkpoint[name] for name in model.names]
"""
WRITER = """
import torch
from ranking import Rank


def main(loader):
    scores = {}
    for name in ("small", "large"):
        scores[name] = score(name, loader)
    torch.save(scores, f"rank_{name}/results.pth")


def score(name, loader):
    features = torch.hub.load("models", name).cuda()(loader)
"""
FIT = "    found = Rank().fit(features.cpu().numpy())\n    return found\n"
KEEP = "    found = features.mean()\n    return found\n"


@pytest.mark.parametrize(("returned", "told"), [(FIT, False), (KEEP, True)])
def test_a_file_that_another_program_fills_with_numbers_loads_anywhere(
    tmp_path: Path, returned: str, told: bool
) -> None:
    (tmp_path / "rank.py").write_text(WRITER + returned)
    reader = tmp_path / "tune.py"
    reader.write_text(READER)
    found = lint(
        SourceFile(str(reader), reader.read_bytes()), SETTINGS, elsewhere=Neighbours(SETTINGS)
    )
    assert bool(found) is told


STARTER = """
import argparse, os
import torch


def options():
    parser = argparse.ArgumentParser()
    return parser.parse_args()


def train(args, model):
    torch.save({what}, os.path.join(args.folder, "model_args"))


if __name__ == "__main__":
    args = options()
    train(args, torch.nn.Linear(2, 2).cuda())
"""
FIGURES = """
import os
import torch


def settings(folder):
    torch.save(torch.nn.Linear(2, 2).cuda().state_dict(), "net.pth")
    checkpoint = torch.load(os.path.join(folder, "model_args"))
    return checkpoint.size
"""


@pytest.mark.parametrize(("what", "told"), [("args", False), ("model.state_dict()", True)])
def test_options_that_another_program_of_the_project_has_saved_load_anywhere(
    tmp_path: Path, what: str, told: bool
) -> None:
    for folder in (".git", "training", "figures"):
        (tmp_path / folder).mkdir()
    (tmp_path / "training" / "main.py").write_text(STARTER.replace("{what}", what))
    reader = tmp_path / "figures" / "draw.py"
    reader.write_text(FIGURES)
    found = lint(
        SourceFile(str(reader), reader.read_bytes()), SETTINGS, elsewhere=Neighbours(SETTINGS)
    )
    assert bool(found) is told


_STREAMS = """
import io
import torch
from urllib.request import urlopen

model = torch.nn.Linear(4, 2).to("cuda")
kept = io.BytesIO()
torch.save(model.state_dict(), kept)
stream = {made}
model.load_state_dict(torch.load(stream))
"""


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ("io.BytesIO()", False),
        ("io.BytesIO(kept.getvalue())", False),
        ("io.BytesIO(urlopen(place).read())", True),
        ("io.BytesIO(checkpoint)", True),
    ],
)
def test_a_stream_is_of_this_machine_where_the_file_has_filled_it(made: str, told: bool) -> None:
    read = "torch.load(stream)"
    text = _STREAMS.format(made=made)
    row = next(i for i, line in enumerate(text.splitlines(), 1) if read in line)
    assert (row in lines(text)) is told


def test_a_part_without_tensors_is_read_with_the_others() -> None:
    read = (
        'model.load_state_dict(torch.load(state_file)["model"])\n'
        '    steps.load_state_dict(torch.load(state_file)["steps"])'
    )
    assert lines(TRAIN.format(read=read)) == [14, 15]
