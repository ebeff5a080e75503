"""Memory is pinned where the file's own devices have pinned memory."""

from __future__ import annotations

from mpslint.fixing.fixer import fix_source
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

LOADER = """\
import torch
from torch.utils.data import DataLoader

device = {device}
loader = DataLoader([], pin_memory=True)
batch = torch.ones(3)
batch = batch.pin_memory()
"""
ON_ACCELERATOR = "torch.accelerator.current_accelerator() or torch.device('cpu')"
ON_CUDA = "'cuda' if torch.cuda.is_available() else 'cpu'"


def fixed(device: str) -> str:
    return fix_source(SourceFile.from_text(LOADER.format(device=device)), Settings()).text


def test_a_file_that_asks_for_cuda_pins_where_cuda_is() -> None:
    text = fixed(ON_CUDA)
    assert "pin_memory=device == 'cuda')" in text
    assert "if device == 'cuda':\n    batch = batch.pin_memory()" in text


def test_one_that_asks_for_the_accelerator_pins_on_all_but_mps() -> None:
    text = fixed(ON_ACCELERATOR)
    test = "torch.accelerator.is_available() and not torch.backends.mps.is_available()"
    assert f"pin_memory={test})" in text
    assert f"if {test}:\n    batch = batch.pin_memory()" in text
    assert "cuda" not in text


def test_nothing_is_left_to_say_of_what_was_written() -> None:
    for device in (ON_CUDA, ON_ACCELERATOR):
        again = fix_source(SourceFile.from_text(fixed(device)), Settings())
        assert not again.applied
        assert "MPS608" not in {one.code for one in again.remaining}
