"""Sparse tensors in coordinate form are on the simulated devices what they are on a real GPU.

``data/sparse_cuda.json`` was measured on an NVIDIA H200 (torch 2.11.0+cu130) by
``programs/sparse.py`` (2026-11-23).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .conftest import PROGRAMS, run_program

pytestmark = pytest.mark.xdist_group("harness_sparse")

MEASURED = Path(__file__).parent / "data" / "sparse_cuda.json"
REAL: dict[str, Any] = json.loads(MEASURED.read_text(encoding="utf-8"))
VALUES = sorted(name for name, outcome in REAL.items() if "value" in outcome)
ERRORS = sorted(REAL.keys() - set(VALUES))


def results(folder: Path, device: str) -> Any:
    script = PROGRAMS / "sparse.py"
    arguments = [device, str(MEASURED)]
    return run_program(folder, script, "--device", device, "--steps", "0", args=arguments).results()


@pytest.fixture(scope="module")
def on_cuda(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return results(tmp_path_factory.mktemp("sparse"), "cuda")


@pytest.fixture(scope="module")
def on_mps(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return results(tmp_path_factory.mktemp("sparse"), "mps")


@pytest.mark.parametrize("name", VALUES)
def test_values_and_waits_are_those_of_a_real_gpu(on_cuda: Any, name: str) -> None:
    assert on_cuda[name] == REAL[name]


@pytest.mark.parametrize("name", ERRORS)
def test_what_a_real_gpu_refuses_is_refused(on_cuda: Any, name: str) -> None:
    assert on_cuda[name].get("error") == REAL[name]["error"]


@pytest.mark.parametrize("name", VALUES)
def test_the_values_on_mps_are_those_on_cuda(on_mps: Any, name: str) -> None:
    said = json.dumps(on_mps[name].get("value", on_mps[name]))
    assert json.loads(said.replace('"mps"', '"cuda"')) == REAL[name]["value"]


@pytest.mark.parametrize("name", ERRORS)
def test_what_cuda_refuses_gives_no_value_on_mps(on_mps: Any, name: str) -> None:
    assert on_mps[name].get("error") in (REAL[name]["error"], "SimulatorLimit")


def test_mps_before_2_9_has_none(tmp_path: Path) -> None:
    done = run_program(
        tmp_path,
        "import torch\ntorch.eye(2, device='mps').to_sparse() * 2\n",
        *("--device", "mps", "--torch-version", "2.8"),
    )
    assert done.report is not None
    assert done.report["outcome"] == "limit"
