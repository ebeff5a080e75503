"""A loss of another file that holds nothing to move raises nowhere when it is moved."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.checking.linter import lint
from mpslint.project.neighbours import Neighbours
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

_LOSSES = """\
import torch
from torch import nn


class Overlap(nn.Module):
    def __init__(self):
        super(Overlap, self).__init__()
        {kept}

    def forward(self, guess, truth):
        return (guess * truth).sum()


class Dice(Overlap):
    pass
"""
_TRAIN = """\
import torch
from losses import {name}

loss = {name}().{move}
"""


def _told(folder: Path, kept: str, move: str, name: str = "Overlap") -> list[str]:
    (folder / "README.md").write_text("A project.\n")
    (folder / "losses.py").write_text(_LOSSES.format(kept=kept))
    path = folder / "train.py"
    path.write_text(_TRAIN.format(move=move, name=name))
    settings = Settings(select=("MPS101", "MPS102"))
    source = SourceFile(str(path), path.read_bytes())
    return [one.code for one in lint(source, settings, elsewhere=Neighbours(settings))]


@pytest.mark.parametrize("move", ["cuda()", 'to("cuda")'])
@pytest.mark.parametrize("kept", ["self.smooth = 1.0", "self.first = nn.BCELoss()"])
@pytest.mark.parametrize("name", ["Overlap", "Dice"])
def test_it_is_not_told(tmp_path: Path, kept: str, move: str, name: str) -> None:
    assert _told(tmp_path, kept, move, name) == []


@pytest.mark.parametrize(("move", "code"), [("cuda()", "MPS102"), ('to("cuda")', "MPS101")])
@pytest.mark.parametrize(
    "kept",
    [
        "self.net = nn.Linear(2, 2)",
        "self.parts = nn.Sequential(Other())",
        "self.net = unknown()",
        'self.register_buffer("ones", torch.ones(3))',
    ],
)
def test_one_that_may_hold_something_is_told(
    tmp_path: Path, kept: str, move: str, code: str
) -> None:
    assert _told(tmp_path, kept, move) == [code]


def test_one_that_a_module_moves_when_it_is_imported_keeps_nobody_from_it(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "losses.py").write_text(_LOSSES.format(kept="self.smooth = 1.0"))
    (tmp_path / "setting.py").write_text(
        "import flash_attn\n" + _TRAIN.format(name="Dice", move="cuda()")
    )
    path = tmp_path / "program.py"
    path.write_text("import torch\nimport setting\n\nx = torch.ones(3).cuda()\n")
    settings = Settings(select=("MPS102",))
    source = SourceFile(str(path), path.read_bytes())
    assert lint(source, settings, elsewhere=Neighbours(settings)) == []
