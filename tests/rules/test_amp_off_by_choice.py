"""Mixed precision that a check of the program leaves to CUDA is off on MPS, as it shall be."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.linter import lint
from mpslint.neighbours import Neighbours
from mpslint.settings import Settings
from mpslint.source import SourceFile

CHECKS = """\
import torch


def check_amp(model):
    device = next(model.parameters()).device
    if {test}:
        return {answer}
    with torch.cuda.amp.autocast():
        return bool(torch.isfinite(model.try_out()))
"""
TRAINER = """\
import torch
from checks import check_amp


class Trainer:
    def set_up(self, model, wanted):
        self.amp = wanted
        if self.amp:
            self.amp = {given}
        self.scaler = torch.cuda.amp.GradScaler(enabled=self.amp)

    def step(self, model, x):
        with torch.cuda.amp.autocast(self.amp):
            return model(x)
"""
OFF = 'device.type in ("cpu", "mps")'
CHECKED = "torch.tensor(check_amp(model), device=self.device)"


def told(folder: Path, trainer: str, test: str = OFF, answer: str = "False") -> list[int]:
    (folder / "checks.py").write_text(CHECKS.format(test=test, answer=answer))
    (folder / "train.py").write_text(trainer)
    settings = Settings(root=str(folder), select=("MPS207",))
    source = SourceFile(str(folder / "train.py"), trainer.encode())
    return [f.row for f in lint(source, settings, elsewhere=Neighbours(settings))]


@pytest.mark.parametrize(
    "test", [OFF, 'device.type == "mps"', 'device.type != "cuda"', 'device.type not in ("cuda",)']
)
@pytest.mark.parametrize("given", [CHECKED, "check_amp(model)", "bool(check_amp(model))"])
def test_what_a_check_switches_off_is_not_told(tmp_path: Path, test: str, given: str) -> None:
    assert told(tmp_path, TRAINER.format(given=given), test) == []


@pytest.mark.parametrize(
    ("test", "answer"),
    [
        ('device.type == "cpu"', "False"),
        ('device.type in ("cpu", "xpu")', "False"),
        ('device.type != "cpu"', "False"),
        (OFF, "True"),
        ("not torch.is_grad_enabled()", "False"),
    ],
)
def test_a_check_of_something_else_says_nothing_of_mps(
    tmp_path: Path, test: str, answer: str
) -> None:
    assert told(tmp_path, TRAINER.format(given=CHECKED), test, answer) == [10, 13]


def test_a_switch_that_no_check_decides_is_told(tmp_path: Path) -> None:
    assert told(tmp_path, TRAINER.format(given="self.wanted")) == [10, 13]


def test_what_is_enabled_without_the_check_is_told_beside_it(tmp_path: Path) -> None:
    trainer = TRAINER.format(given=CHECKED).replace("autocast(self.amp)", "autocast()")
    assert told(tmp_path, trainer) == [13]


def test_a_check_of_the_same_file_counts_as_well(tmp_path: Path) -> None:
    trainer = TRAINER.format(given=CHECKED).replace("from checks import check_amp", "")
    trainer += CHECKS.format(test=OFF, answer="False").replace("import torch", "", 1)
    assert told(tmp_path, trainer) == []


def test_a_name_that_the_check_answers_is_the_same(tmp_path: Path) -> None:
    trainer = (
        "import torch\nfrom checks import check_amp\n\n\ndef run(model, x):\n"
        "    amp = check_amp(model)\n    with torch.cuda.amp.autocast(enabled=amp):\n"
        "        model(x)\n    with torch.cuda.amp.autocast(enabled=x.wanted):\n        model(x)\n"
    )
    assert told(tmp_path, trainer) == [9]
