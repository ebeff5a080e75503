"""A trainer of Lightning's chooses by itself where nothing is asked of it that a Mac cannot do."""

from __future__ import annotations

import pytest

from mpslint.fixing.fixer import fix_source
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

_TRAINER = """\
import lightning as L
import torch

trainer = L.Trainer(accelerator="gpu" if torch.cuda.is_available() else "cpu"{more})
"""


def chooses(more: str, *, unsafe: bool = False) -> bool:
    source = SourceFile("train.py", _TRAINER.format(more=more).encode())
    return 'accelerator="auto"' in fix_source(source, Settings(), unsafe=unsafe).text


@pytest.mark.parametrize(
    "more",
    ["", ", max_epochs=3", ", devices=1", ", devices=-1", ', devices="auto", precision="32-true"'],
)
def test_lightning_chooses(more: str) -> None:
    assert chooses(more)


@pytest.mark.parametrize(
    "more",
    [
        pytest.param(", devices=4", id="a Mac has one GPU"),
        pytest.param(", devices=-2", id="no number of GPUs"),
        pytest.param(", devices=[0, 1]", id="GPUs by their numbers"),
        pytest.param(', strategy="ddp"', id="MPS knows no process groups"),
        pytest.param(", precision=64", id="MPS has no float64"),
    ],
)
def test_what_a_mac_may_not_do_keeps_the_choice(more: str) -> None:
    assert not chooses(more, unsafe=True)


@pytest.mark.parametrize(
    "more",
    [
        pytest.param(", devices=count", id="a number that is not seen"),
        pytest.param(", **options", id="what else is not seen"),
        pytest.param(", plugins=[]", id="an argument that nobody knows"),
    ],
)
def test_what_is_not_seen_is_for_somebody_to_look_at(more: str) -> None:
    assert not chooses(more)
    assert chooses(more, unsafe=True)
