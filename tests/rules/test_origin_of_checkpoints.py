"""Where a checkpoint comes from is known where the same file saves one, and guessed elsewhere."""

from __future__ import annotations

import pytest

from mpslint.linter import lint
from mpslint.model import Confidence
from mpslint.settings import Settings
from mpslint.source import SourceFile

LOAD = """
import torch

def resume(model, args):
    model.load_state_dict(torch.load(args.resume))
"""
SAVE = """
def keep(model, path):
    model.to(device)
    torch.save({"net": model.state_dict()}, path)
"""
DATA = """
def keep(features, path):
    torch.save(features, path)
"""


def confidence(text: str) -> Confidence:
    (found,) = lint(SourceFile("program.py", text.encode()), Settings(select=("MPS413",)))
    return found.confidence


def test_a_file_that_saves_models_as_they_lie_on_the_device_reads_what_cuda_wrote() -> None:
    assert confidence(LOAD + SAVE) is Confidence.CERTAIN


@pytest.mark.parametrize("beside", ["", DATA])
def test_who_writes_the_checkpoints_elsewhere_is_not_known(beside: str) -> None:
    assert confidence(LOAD + beside) is Confidence.INFERRED
