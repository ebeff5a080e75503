"""Mixed precision that a check of the program leaves to CUDA is off on MPS, as it shall be."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.checking.linter import lint
from mpslint.project.neighbours import Neighbours
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

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


KEPT = """\
from functools import partial

from torch.amp import GradScaler as _GradScaler, autocast as _autocast

autocast = partial(_autocast, device_type="cuda")
GradScaler = partial(_GradScaler, "cuda")
"""
TUNER = """\
import torch
from kept import GradScaler, autocast


class Tuner:
    def fit(self, model, batches):
        use_amp = {asked}
        scaler = GradScaler() if {made} else None
        for batch in batches:
            use_scaler = use_amp and scaler is not None
            with autocast({enabled}):
                loss = model(batch)
            if use_scaler:
                scaler.scale(loss).backward()
"""
ON_CUDA = 'self.device.startswith("cuda") and torch.cuda.is_available()'


def told_of_kept(folder: Path, tuner: str, more: str = "") -> list[int]:
    kept = KEPT + more
    (folder / "kept.py").write_text(kept)
    (folder / "tune.py").write_text(tuner)
    settings = Settings(root=str(folder), select=("MPS208",))
    source = SourceFile(str(folder / "kept.py"), kept.encode())
    return [f.row for f in lint(source, settings, elsewhere=Neighbours(settings))]


@pytest.mark.parametrize("asked", [ON_CUDA, "torch.cuda.is_available()"])
def test_what_a_module_keeps_for_who_switches_it_on_for_cuda_alone_is_not_told(
    tmp_path: Path, asked: str
) -> None:
    tuner = TUNER.format(asked=asked, made="use_amp", enabled="enabled=use_scaler")
    assert told_of_kept(tmp_path, tuner) == []


@pytest.mark.parametrize(
    ("asked", "made", "enabled", "rows"),
    [
        ('self.device != "cpu"', "use_amp", "enabled=use_scaler", [5, 6]),
        (ON_CUDA, "self.wanted", "enabled=use_scaler", [6]),
        (ON_CUDA, "use_amp", "", [5]),
        (ON_CUDA, "use_amp", "enabled=True", [5]),
        (ON_CUDA, "use_amp", "enabled=not use_scaler", [5]),
    ],
)
def test_what_somebody_switches_on_elsewhere_is_told_where_it_is_kept(
    tmp_path: Path, asked: str, made: str, enabled: str, rows: list[int]
) -> None:
    assert told_of_kept(tmp_path, TUNER.format(asked=asked, made=made, enabled=enabled)) == rows


def test_what_the_module_itself_uses_as_well_is_told(tmp_path: Path) -> None:
    tuner = TUNER.format(asked=ON_CUDA, made="use_amp", enabled="enabled=use_scaler")
    assert told_of_kept(tmp_path, tuner, "\nwith autocast():\n    pass\n") == [5]
