"""What one arm of a program sets on its options, and the other leaves out, is a choice all the
same; what is given anew before anybody reads it is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.worlds.conftest import told_in_project

TRAINER = """\
import torch


class Trainer:
    def __init__(self, config):
        self.net = torch.nn.Linear(2, 2).to(config.device)
"""
PROGRAM = """\
import argparse

import torch
from best import pick
from trainer import Trainer


def main():
    args = argparse.ArgumentParser().parse_args()
    if args.mode == "train":
        args.device = {device}
        {train}
    else:
        args.tests = 2
    {end}


main()
"""
CHOICE = 'torch.device("cuda" if torch.cuda.is_available() else "cpu")'
BUILT = "Trainer(args)"


@pytest.mark.parametrize(
    ("device", "train", "end", "told"),
    [
        (CHOICE, BUILT, "print(args.tests)", {"MPS103"}),
        (CHOICE, "pass", BUILT, {"MPS103"}),
        (CHOICE, "pass", "args.device = pick(); Trainer(args)", set()),
        ("pick()", BUILT, "print(args.tests)", set()),
    ],
)
def test_a_choice_of_one_arm_is_told(
    cli: Cli, project: Path, device: str, train: str, end: str, told: set[str]
) -> None:
    program = PROGRAM.format(device=device, train=train, end=end)
    files = {"README.md": "", "trainer.py": TRAINER, "main.py": program}
    assert {code for path, _, code in told_in_project(cli, files) if path == "main.py"} == told
