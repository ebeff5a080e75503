"""``torch.distributed`` with gloo and two processes: what a real GPU gives, and never a crash.

``data/gloo_cuda.json`` was measured on an NVIDIA H200 (torch 2.11.0+cu130) by ``programs/gloo.py``,
one case at a time. On MPS no operator of torch.distributed has a kernel.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .conftest import PROGRAMS, Finished, run_program

pytestmark = pytest.mark.xdist_group("harness_gloo")

MEASURED = json.loads((Path(__file__).parent / "data" / "gloo_cuda.json").read_text())["cases"]

WHY_NOT = {
    "all_to_all": "torch 2.13's gloo has this collective, that of 2.11 (measured) does not",
}

Found = list[dict[str, Any]]


def run(folder: Path, device: str) -> tuple[Finished, Found]:
    script = PROGRAMS / "gloo.py"
    done = run_program(
        folder, script, "--device", device, "--steps", "0", args=[device, str(folder)]
    )
    assert done.code == 0, done.err[-3000:]
    return done, [json.loads((folder / f"rank{rank}.json").read_text()) for rank in (0, 1)]


@pytest.fixture(scope="module")
def cuda(tmp_path_factory: pytest.TempPathFactory) -> tuple[Finished, Found]:
    return run(tmp_path_factory.mktemp("cuda"), "cuda")


@pytest.fixture(scope="module")
def mps(tmp_path_factory: pytest.TempPathFactory) -> tuple[Finished, Found]:
    return run(tmp_path_factory.mktemp("mps"), "mps")


@pytest.mark.parametrize("case", sorted(set(MEASURED) - set(WHY_NOT)))
def test_gloo_does_on_simulated_cuda_what_it_does_on_a_gpu(
    cuda: tuple[Finished, Found], case: str
) -> None:
    assert [rank[case] for rank in cuda[1]] == MEASURED[case]


def test_a_collective_may_be_waited_for_later(cuda: tuple[Finished, Found]) -> None:
    assert [rank["all_reduce_async"] for rank in cuda[1]] == MEASURED["all_reduce"]


def test_nothing_of_it_is_a_limit_of_the_simulation(cuda: tuple[Finished, Found]) -> None:
    report = cuda[0].report
    assert report is not None
    assert (report["outcome"], report["limits"]) == ("finished", [])


@pytest.mark.parametrize("case", sorted(set(MEASURED) - {"barrier"}))
def test_on_mps_it_has_no_kernel(mps: tuple[Finished, Found], case: str) -> None:
    assert [rank[case] for rank in mps[1]] == [["NotImplementedError"]] * 2
