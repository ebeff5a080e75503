"""What goes back to a buffer of another file is needed there, where that works on the host."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.checking.linter import lint
from mpslint.project.neighbours import Neighbours
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

TRAIN = """\
import torch
from loaders import batches

{imported}

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torch.nn.Linear(4, 2).to(device)
optimizer = torch.optim.Adam(model.parameters())
buffer = Buffer()


def train():
    for _ in range(1000):
        picked, batch = {drawn}
        errors = model(batch.to(device)).sum(1)
        loss = errors.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        buffer.update(picked, errors.detach().cpu().numpy())


train()
"""
BUFFER = """\
import numpy as np


class Buffer:
    def update(self, picked, errors):
        {}
"""
HOST = "for index, error in zip(picked, errors):\n            self.tree[index] = error"
OWN, DRAWN = "from buffers import Buffer", "buffer.sample(16)"


@pytest.mark.parametrize(
    ("imported", "drawn", "body", "told"),
    [
        (OWN, DRAWN, HOST, 0),
        (OWN, DRAWN, "self.tree[picked] = np.abs(errors)", 0),
        (OWN, DRAWN, "self.tree[picked] = errors", 1),
        (OWN, "next(batches)", HOST, 1),
        ("from elsewhere import Buffer", DRAWN, HOST, 1),
    ],
)
def test_only_a_buffer_that_gave_the_batch_and_works_on_the_host_needs_the_copy(
    tmp_path: Path, imported: str, drawn: str, body: str, told: int
) -> None:
    (tmp_path / "README.md").write_text("A project.\n")
    (tmp_path / "buffers.py").write_text(BUFFER.format(body))
    program = tmp_path / "train.py"
    program.write_text(TRAIN.format(imported=imported, drawn=drawn))
    settings = Settings(select=("MPS304",))
    source = SourceFile(str(program), program.read_bytes())
    assert len(lint(source, settings, elsewhere=Neighbours(settings))) == told
