"""NumPy's arrays are float64 where it makes them so, and that comes along to the device."""

from __future__ import annotations

import pytest

from mpslint.semantics.context import Context
from mpslint.semantics.worlds.events import Kind
from mpslint.settings import Settings
from mpslint.source import SourceFile

PROGRAM = """\
import math
import numpy as np
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def discounted(rewards):
    out, running = np.zeros(len(rewards)), 0.0
    return (out - out.mean()) / (out.std() + 1e-8)


def counted(rewards):
    return np.zeros(len(rewards), dtype=np.int64)


x = torch.from_numpy(ARRAY).to(device)
"""


def is_wide(array: str) -> bool:
    source = SourceFile("program.py", PROGRAM.replace("ARRAY", array).encode())
    worlds = Context(source, source.parse(), Settings(), None).worlds
    return any(worlds.events(Kind.WIDE))


@pytest.mark.parametrize(
    "array",
    [
        "discounted(rewards)",
        "np.arange(size) / size",
        "np.exp(np.arange(size))",
        "np.exp(-math.log(10000) * np.arange(size // 2) / (size // 2))",
        "np.arange(size) * 0.5",
        "np.random.randint(0, 9, size) * np.linspace(0, 1, size)",
    ],
)
def test_what_numpy_makes_with_a_point_is_float64(array: str) -> None:
    assert is_wide(array)


@pytest.mark.parametrize(
    "array",
    [
        "counted(rewards)",
        "np.arange(size)",
        "np.arange(size) * 2",
        "(np.arange(size) / size).astype(np.float32)",
        "np.random.randint(0, 9, size)",
        "given / size",
    ],
)
def test_whole_numbers_and_what_is_cast_or_not_known_is_none(array: str) -> None:
    assert not is_wide(array)
