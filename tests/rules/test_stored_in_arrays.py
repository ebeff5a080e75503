"""Tensors of the device that are put into arrays: NumPy asks a number of one, or its memory."""

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

PROGRAM = """\
import numpy as np
import torch

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
row = torch.rand(3, device=device)
loss = row.sum()
losses = np.zeros(10)
table = np.zeros((10, 3))
kept = np.empty(10, dtype=object)
few = [0, 1, 2]
one = 1
large = losses > 5
for i in range(10):
    {}
"""


def told(store: str) -> bool:
    found = lint(SourceFile("program.py", PROGRAM.format(store).encode()), Settings())
    return any(one.code == "MPS301" for one in found)


@pytest.mark.parametrize(
    "store",
    [
        "losses[i] = loss",
        "losses[one] = loss",
        "losses[i - 1] = loss",
        "losses[-1] = loss",
        "table[i, 0] = loss",
        "table[i][0] = loss",
        "kept[i] = row",
    ],
)
def test_one_element_is_made_of_a_number_which_each_device_gives(store: str) -> None:
    assert not told(store)


@pytest.mark.parametrize(
    "store",
    [
        "losses[:] = loss",
        "losses[...] = loss",
        "losses[i : i + 3] = row",
        "losses[[0, 1, 2]] = row",
        "losses[few] = row",
        "losses[losses > 5] = loss",
        "losses[large] = loss",
        "losses[~large & (losses < 1)] = loss",
        "table[i] = row",
        "table[i, :] = row",
        "table[:, 0] = loss",
    ],
)
def test_several_elements_are_filled_from_the_memory_of_the_tensor(store: str) -> None:
    assert told(store)
