"""What a processor makes of a text is on the CPU: reading it waits for no device."""

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

PROGRAM = """\
import torch
from torch import nn

class Embedder(nn.Module):
    def __init__(self, model, processor):
        super().__init__()
        self.model, self.processor = model, processor

    def forward(self, texts):
        rows = []
        for text in texts:
            {made}
            {before}
            old = inputs.input_ids
            new = torch.cat(self.parts(text), dim=1).to("mps")
            new = new.to({place})
            first = (old == 151653).nonzero(as_tuple=True)[1][0]
            second = (new == 151653).nonzero(as_tuple=True)[1][0]
            inputs.input_ids = torch.cat([old[0, :first], new[0, second:]], dim=0).to("mps")
            rows.append(self.model(inputs.input_ids))
        return rows
"""
MADE = 'inputs = self.processor(text=[text], padding=True, return_tensors="pt")'


def told(made: str = MADE, before: str = "pass", place: str = "old.device") -> list[int]:
    program = PROGRAM.format(made=made, before=before, place=place)
    found = lint(SourceFile("program.py", program.encode()), Settings(select=("MPS303",)))
    return [one.row for one in found]


def test_ids_that_a_processor_has_just_made_are_read_without_a_wait() -> None:
    assert told() == []


def test_ids_that_stay_on_the_device_are_told() -> None:
    assert told(place="self.model.device") == [19]


@pytest.mark.parametrize(
    ("made", "before"),
    [
        (f"{MADE}.to('mps')", "pass"),
        (MADE, 'inputs.input_ids = self.model.ids.to("mps")'),
        (MADE.replace("padding=True", "device='mps'"), "pass"),
        (MADE.replace('"pt"', "kind"), "pass"),
        ("inputs = self.processor(text)", "pass"),
    ],
)
def test_ids_that_may_be_on_a_device_are_told(made: str, before: str) -> None:
    assert told(made, before) == [19]
