"""The simulated cuda waits and complains where real GPUs do.

``data/cuda_contract.json`` was measured on an NVIDIA H200 (torch 2.11.0+cu130) and
``data/cuda_contract_more.json`` on an NVIDIA H100 with the same torch (2026-11-21), both by
``programs/cuda_contract.py``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .conftest import PROGRAMS, run_program

# One worker runs the program once for all of these tests.
pytestmark = pytest.mark.xdist_group("harness_cuda")

DATA = Path(__file__).parent / "data"

# Cases on which a simulation cannot agree, or which another torch release decides.
WHY_NOT = {
    "trunc_normal_": "torch 2.13 reads two numbers on the host in Python code that 2.11 lacks",
}


def table(kind: str) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for name in ("cuda_contract_more.json", "cuda_contract.json"):
        merged.update(json.loads((DATA / name).read_text(encoding="utf-8"))[kind])
    return merged


SYNCS = table("syncs")
ERRORS = {**table("errors"), **table("raises_instead")}


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("contract")
    done = run_program(folder, PROGRAMS / "cuda_contract.py", "--device", "cuda", "--steps", "0")
    return json.loads([line for line in done.out.splitlines() if line.startswith("{")][-1])


@pytest.mark.parametrize("name", sorted(SYNCS))
def test_the_host_waits_as_often_as_on_a_real_gpu(simulated: Any, name: str) -> None:
    if name in WHY_NOT:
        pytest.skip(WHY_NOT[name])
    assert simulated["syncs"][name] == SYNCS[name]


@pytest.mark.parametrize("name", sorted(ERRORS))
def test_the_error_is_that_of_a_real_gpu(simulated: Any, name: str) -> None:
    expected, found = ERRORS[name], simulated["errors"][name]
    if expected is None:
        assert found is None
        return
    assert found is not None
    # The last part of some texts names files or links of one release.
    assert found[:200].strip() == expected[:200].strip()


def test_both_measurements_hold_enough_cases() -> None:
    assert len(SYNCS) >= 150
    assert len(ERRORS) >= 70
