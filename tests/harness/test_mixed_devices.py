"""Tensors of two devices in one expression, and reads that nobody asked for: as on a real GPU.

``data/mixed_devices_cuda.json`` was measured on an NVIDIA H200 (torch 2.11.0+cu130) by
``programs/mixed_devices.py``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .conftest import PROGRAMS, Run, run_program

pytestmark = pytest.mark.xdist_group("harness_mixed")

DATA = Path(__file__).parent / "data" / "mixed_devices_cuda.json"
MEASURED = json.loads(DATA.read_text(encoding="utf-8"))["cases"]

# torch 2.13 words its refusal of NumPy's keywords in another way than 2.11.
OTHER_WORDS = {"np.mean(d1)"}
# What another torch release says otherwise, on the CPU as well.
WHY_NOT = {
    "torch.autograd.grad((nn.Parameter(c0.clone()) * d1).sum(), [])": (
        "torch 2.13 raises RuntimeError for an empty list of inputs, 2.11 ValueError"
    ),
}


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Any:
    script = PROGRAMS / "mixed_devices.py"
    done = run_program(
        tmp_path_factory.mktemp("mixed"), script, "--device", "cuda", "--steps", "0", args=["cuda"]
    )
    return done.results()


@pytest.mark.parametrize("case", sorted(MEASURED))
def test_the_outcome_is_that_of_a_real_gpu(simulated: Any, case: str) -> None:
    if case in WHY_NOT:
        pytest.skip(WHY_NOT[case])
    found, measured = simulated[case], MEASURED[case]
    if case in OTHER_WORDS:
        assert found["error"] == measured["error"]
    else:
        assert found == measured


def test_the_measurement_holds_enough_cases() -> None:
    assert len(MEASURED) >= 184


IN_PLACE = """
import torch
x = torch.arange(8.0, device="cuda")
for name, action in {
    "the elements beside": lambda: x[1:].add_(x[:-1]),
    "a row of itself": lambda: x.view(2, 4).mul_(x[:4]),
    "itself": lambda: x.add_(x),
    "a view of all of it": lambda: x.add_(x.view(8)),
    "another part": lambda: x[:4].add_(x[4:]),
}.items():
    try:
        action()
        print(name, "works")
    except RuntimeError as error:
        print(name, "raises", str(error)[:22])
"""


def test_an_operation_in_place_notices_what_it_would_overwrite(quick: Run) -> None:
    on_the_cpu = quick(IN_PLACE.replace('"cuda"', '"cpu"'), "--device", "cpu")
    on_the_device = quick(IN_PLACE, "--device", "cuda")
    assert "the elements beside raises unsupported operation:" in on_the_cpu.out
    assert on_the_device.out == on_the_cpu.out


def test_indices_that_move_to_the_cpu_are_waited_for(quick: Run) -> None:
    script = """
import torch
x = torch.zeros(4)
x[torch.tensor([0, 2], device="mps")] = 1.0
print(x.tolist())
"""
    run = quick(script, "--device", "mps")
    assert run.out == "[1.0, 0.0, 1.0, 0.0]\n"
    assert [(row["line"], row["direction"]) for row in run.report["copies"]][-1] == (4, "d2h")
