"""What tests of the user's do for themselves is told only where it is a fault of theirs."""

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

UNLIMITED = 'import os\n\nos.environ["PYTORCH_MPS_HIGH_WATERMARK_RATIO"] = "0.0"\n\nimport torch\n'
SEEDED = """
import torch


def test_crop(crop, image):
    torch.cuda.manual_seed(0)
    crop(image)
"""
MOVED = SEEDED.replace("crop(image)\n", "crop(torch.rand(3).to('mps'))\n")


def codes(path: str, text: str) -> list[str]:
    found = lint(SourceFile(path, text.encode()), Settings(select=("MPS204", "MPS701")))
    return [finding.code for finding in found]


@pytest.mark.parametrize("path", ["tests/conftest.py", "test_model.py", "model_test.py"])
def test_small_tests_may_have_all_memory(path: str) -> None:
    assert codes(path, UNLIMITED) == []


def test_a_program_may_not() -> None:
    assert codes("train.py", UNLIMITED) == ["MPS701"]


def test_a_test_that_puts_nothing_on_a_device_has_nothing_to_seed_there() -> None:
    assert codes("tests/test_crop.py", SEEDED) == []


def test_one_that_does_seeds_the_wrong_device() -> None:
    assert codes("tests/test_crop.py", MOVED) == ["MPS204"]


def test_helpers_seed_for_whoever_calls_them() -> None:
    assert codes("seeding.py", SEEDED) == ["MPS204"]


BUILT = """
import torch


def test_layer(layer):
    device = "cuda" if torch.backends.cuda.is_built() else "cpu"
    layer.to(device)
"""


def asks_for_the_build(path: str, text: str) -> bool:
    return bool(lint(SourceFile(path, text.encode()), Settings(select=("MPS105",))))


def test_no_wheel_for_macs_is_built_for_cuda_so_a_test_that_asks_for_it_passes_there() -> None:
    assert not asks_for_the_build("tests/test_layer.py", BUILT)


def test_a_program_that_asks_for_it_is_told_and_so_is_a_test_of_mps() -> None:
    assert asks_for_the_build("train.py", BUILT)
    assert asks_for_the_build("tests/test_layer.py", BUILT.replace("cuda", "mps"))


KEPT = """
import torch
from app import Application


def test_state():
    app = Application(scaler=torch.{}GradScaler({}))
    assert "scaler" in app.state()
"""


@pytest.mark.parametrize(("module", "device"), [("amp.", "'cuda'"), ("cuda.amp.", "")])
def test_a_scaler_that_a_test_only_keeps_may_be_off(module: str, device: str) -> None:
    def told(path: str, text: str) -> bool:
        select = Settings(select=("MPS207", "MPS208"))
        return bool(lint(SourceFile(path, text.encode()), select))

    text = KEPT.format(module, device)
    assert not told("tests/test_app.py", text)
    assert told("app_state.py", text)
    assert told("tests/test_app.py", f"{text}    app.scaler.scale(app.loss()).backward()\n")


_TURNED = """\
import torch
from batches import debug_batch

def test_turning():
    batch = debug_batch()
    {more}
    turned = torch.Tensor([[1.0, 0.0]], device=batch.device)
    assert turned.shape == (1, 2)
"""


def _turned(path: str, more: str) -> int:
    source = SourceFile(path, _TURNED.format(more=more).encode())
    return len(lint(source, Settings(select=("MPS416",))))


def test_what_follows_a_tensor_of_a_test_that_names_no_device_is_on_the_cpu() -> None:
    assert _turned("tests/test_turning.py", "pass") == 0


@pytest.mark.parametrize("more", ["batch = batch.to('mps')", "batch = batch.cuda()"])
def test_it_is_told_where_the_test_moves_something(more: str) -> None:
    assert _turned("tests/test_turning.py", more) == 1


def test_it_is_told_where_no_test_runs_it() -> None:
    assert _turned("turning/model.py", "pass") == 1


HELPER = """
import pytest
import torch


class Small(torch.nn.Module):
    def forward(self, x):
        return x + torch.arange(3).to(x.device)


def test_small():
    assert run(torch.rand(3, device="mps")) is not None


{run}
"""


@pytest.mark.parametrize(
    ("run", "told"),
    [
        ("def run(x):\n    return Small()(x)", False),
        ("def run(x):\n    return MODEL(x)\n\n\nMODEL = Small()", True),
        (
            "class Run:\n    def __call__(self, x):\n        return Small()(x)\n\n\nrun = Run()",
            True,
        ),
    ],
)
def test_what_a_class_does_that_only_tests_use_costs_nobody_a_step(run: str, told: bool) -> None:
    source = SourceFile("tests/test_small.py", HELPER.format(run=run).encode())
    assert bool(lint(source, Settings(select=("MPS310",)))) is told
