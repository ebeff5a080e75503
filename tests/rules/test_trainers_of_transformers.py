"""What a `Trainer` of transformers does under `use_amp` is CUDA's: its settings see to that."""

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

TRAINER = """
import torch
from torch.cuda.amp import autocast
from transformers import Trainer
from engine import Engine


class CTCTrainer({base}):
    def training_step(self, model, inputs):
        {test}
            with autocast():
                loss = self.compute_loss(model, inputs)
        return loss
"""


@pytest.mark.parametrize(
    ("base", "test", "told"),
    [
        ("Trainer", "if self.use_amp:", False),
        ("Trainer", "if self.use_amp and not self.deepspeed:", False),
        ("Trainer", "if self.args.half:", True),
        ("Trainer", "if not self.use_amp:", True),
        ("Engine", "if self.use_amp:", True),
        ("object", "if self.use_amp:", True),
    ],
)
def test_use_amp_of_transformers_is_for_cuda(base: str, test: str, told: bool) -> None:
    text = TRAINER.format(base=base, test=test).encode()
    found = lint(SourceFile("train.py", text), Settings(select=("MPS207",)))
    assert bool(found) is told
