"""NumPy's arrays are float64 where it makes them so, and that comes along to the device."""

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.semantics.context import Context
from mpslint.semantics.worlds.events import Kind
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

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
    ("array", "dtype"),
    [
        ("np.exp(1j * np.linspace(0, 1, size))", "complex128"),
        ("(2 * 1j) * np.arange(size)", "complex128"),
        ("np.zeros(size) + np.exp(1j * np.linspace(0, 1, size))", "complex128"),
        ("np.array([1.0, 2j])", "complex128"),
        ("np.exp(1j * np.linspace(0, 1, size)).real", "float64"),
        ("np.abs(np.exp(1j * np.linspace(0, 1, size)))", "float64"),
    ],
)
def test_complex_numbers_stay_complex(array: str, dtype: str) -> None:
    source = SourceFile("program.py", PROGRAM.replace("ARRAY", array).encode())
    worlds = Context(source, source.parse(), Settings(), None).worlds
    assert {event.value.v for event in worlds.events(Kind.WIDE)} == {dtype}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "array",
    [
        "discounted(rewards)",
        "np.arange(size) / size",
        "np.exp(np.arange(size))",
        "np.exp(-math.log(10000) * np.arange(size // 2) / (size // 2))",
        "np.arange(size) * 0.5",
        "np.random.randint(0, 9, size) * np.linspace(0, 1, size)",
        "np.random.permutation(np.zeros(9))",
        "np.random.permutation(9) / 2",
        "np.random.permutation([0.5, 1.5])",
        "np.bincount(given, weights)",
        "np.bincount(given) / 2",
        "np.sqrt(np.arange(size))",
        "np.random.uniform(0, 1, size)",
        "np.mean(np.arange(12).reshape(3, 4), axis=0)",
        "np.power(np.arange(size), 2.0)",
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
        "np.random.permutation(np.zeros(9, dtype=np.float32)) / 2",
        "np.random.permutation(given) / 2",
        "np.random.permutation(9)",
        "np.bincount(given)",
        "np.sqrt(np.zeros(9, dtype=np.uint8))",
        "np.sqrt(np.zeros(9, dtype=np.uint8)) / 2",
        "np.argsort([0.5, 0.25])",
        "np.power(np.arange(size), 2)",
        "np.zeros(9, dtype=np.float32) * np.sqrt(2)",
        "np.linspace(0, 1, 9).mean(dtype=np.float32)",
        "np.polyval(np.zeros(9, dtype=np.float32), given)",
    ],
)
def test_whole_numbers_and_what_is_cast_or_not_known_is_none(array: str) -> None:
    assert not is_wide(array)


SHOWN = """\
import numpy as np
import torch

net = torch.nn.Linear(4, 2).to("mps")
y = net(torch.rand(2, 4, device="mps"))
y = y.detach() * 255
y = {made}
print(np.concatenate(y, axis=1))
"""


@pytest.mark.parametrize(
    ("made", "told"),
    [("y.astype(np.uint8)", False), ("y.to(torch.uint8)", True), ("y.int()", True)],
)
def test_what_has_the_method_of_arrays_is_one(made: str, told: bool) -> None:
    source = SourceFile("program.py", SHOWN.format(made=made).encode())
    assert bool(list(lint(source, Settings(select=("MPS301",))))) is told


@pytest.mark.parametrize("array", ["np.mean(a=rewards)", "np.exp(x=rewards)", "np.min(a=rewards)"])
def test_of_arrays_that_are_given_by_name_nothing_is_said(array: str) -> None:
    assert not is_wide(array)
