"""A module that is made for one pass, and never moved, keeps its tensors on the CPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.checking.linter import lint
from mpslint.project.neighbours import Neighbours
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

_MODEL = """\
import torch
from torch import nn


class Encoding(nn.Module):
    def __init__(self, channels):
        super(Encoding, self).__init__()
        self.register_buffer("freq", 1.0 / torch.arange(0, channels, 2).float())

    def forward(self, tensor):
        places = torch.arange(tensor.shape[0], device=tensor.device).type(self.freq.type())
        return places[:, None] * self.freq


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        {kept}

    def forward(self, x):
        encoding = {made}
        {more}
        return self.layer(x + encoding(x))
"""


def _told(folder: Path, made: str, kept: str = "", more: str = "", **others: str) -> bool:
    (folder / "README.md").write_text("A project.\n")
    path = folder / "model.py"
    path.write_text(_MODEL.format(made=made, kept=kept, more=more))
    for name, text in others.items():
        (folder / f"{name}.py").write_text(text)
    settings = Settings(select=("MPS417",))
    source = SourceFile(str(path), path.read_bytes())
    return bool(lint(source, settings, elsewhere=Neighbours(settings)))


def test_one_that_is_only_called_is_on_the_cpu(tmp_path: Path) -> None:
    assert not _told(tmp_path, "Encoding(x.shape[1])")


@pytest.mark.parametrize(
    ("made", "kept", "more"),
    [
        ("self.encoding", "self.encoding = Encoding(3)", ""),
        ("Encoding(3).to(x.device)", "", ""),
        ("Encoding(3)", "", "encoding.to(x.device)"),
        ("Encoding(3)", "", "moved(encoding)"),
    ],
)
def test_one_that_is_moved_or_may_be_is_told(
    tmp_path: Path, made: str, kept: str, more: str
) -> None:
    assert _told(tmp_path, made, kept, more)


def test_one_that_another_file_makes_is_told(tmp_path: Path) -> None:
    user = "from model import Encoding\n\nprint(Encoding(3).cuda())\n"
    assert _told(tmp_path, "Encoding(3)", user=user)
