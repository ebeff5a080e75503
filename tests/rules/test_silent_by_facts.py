"""What no turn of a training waits for, and devices that nobody gives."""

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

TRAINING = """\
import pytest
import torch

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
net = torch.nn.Linear(2, 2).to(device)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def {}(loader):
    for x in loader:
        loss = net(x.to(device)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        {}


def test_all():
    assert callable({})
"""
LEGACY = """\
import pytest
import torch

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def cubes(size, device="cpu"):
    return torch.FloatTensor([[size, 1], [1, 0]], device=device)


def test_cubes():
    assert cubes({}).shape == (2, 2)
    assert torch.ones(2, device=DEVICE).sum() == 2
"""


def codes(text: str, path: str, *selected: str) -> list[str]:
    settings = Settings(select=selected) if selected else Settings()
    return [one.code for one in lint(SourceFile(path, text.encode()), settings)]


def training(body: str, name: str = "_run") -> str:
    return TRAINING.format(name, body, name)


def test_an_assertion_in_a_file_of_tests_has_to_read() -> None:
    text = training("assert torch.isfinite(loss)")
    assert "MPS306" not in codes(text, "tests/test_training.py")


def test_the_same_in_a_program_is_told() -> None:
    assert "MPS306" in codes(training("assert torch.isfinite(loss)"), "training.py")


@pytest.mark.parametrize(
    "body",
    [
        "if loss.max() > 1:\n            print(loss.max())",
        "if loss.min() < 0 or loss.max() > 1:\n            print(f'{loss}')",
        "if torch.isnan(loss):\n            print(loss)",
    ],
)
def test_what_is_shown_behind_a_test_of_its_own_value_is_rare(body: str) -> None:
    assert "MPS305" not in codes(training(body), "training.py")


@pytest.mark.parametrize(
    "body",
    [
        "print(loss.max())",
        "if loader.verbose:\n            print(loss.max())\n        print(loss)",
        "if loss.shape:\n            print(loss)",
        "if loss.max() > 1:\n            pass\n        else:\n            print(loss)",
    ],
)
def test_what_is_shown_whatever_it_is_is_told(body: str) -> None:
    assert "MPS305" in codes(training(body), "training.py")


def test_a_device_that_no_call_of_a_test_gives_is_the_one_by_default() -> None:
    assert "MPS416" not in codes(LEGACY.format("0"), "tests/test_cubes.py", "MPS416")
    assert "MPS416" not in codes(LEGACY.format("size=0"), "tests/test_cubes.py", "MPS416")


@pytest.mark.parametrize("given", ["0, DEVICE", "0, device=DEVICE", "*(0, DEVICE)", "**options"])
def test_one_that_a_call_gives_is_told(given: str) -> None:
    assert "MPS416" in codes(LEGACY.format(given), "tests/test_cubes.py", "MPS416")


def test_so_is_one_that_others_may_give() -> None:
    assert "MPS416" in codes(
        LEGACY.format("0").replace("def test_", "def show_"), "cubes.py", "MPS416"
    )
