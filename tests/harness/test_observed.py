"""What a run tells beside its steps: what it logged, and which of its modules used the device."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Run

LOGS = """
import logging
import torch
logging.basicConfig(level=logging.INFO)
log = logging.getLogger("mine")
log.info("accuracy %.3f", 0.5)
log.debug("nobody hears this")
log.info("broken %d", "message")
"""


def test_what_the_script_logs_is_told_and_what_nobody_hears_is_not(quick: Run) -> None:
    assert quick(LOGS, "--device", "cpu").report["logged"] == ["accuracy 0.500"]


TWO_MODELS = """
import torch
from torch import nn

class Big(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(4, 64), nn.Linear(64, 64))
        self.head = nn.Linear(64, 2)

    def forward(self, x):
        return self.head(self.trunk(x).to("mps"))

big, small = Big(), nn.Linear(4, 2).to("mps")
big.head.to("mps")
x = torch.ones(3, 4)
big(x)
small(x.to("mps"))
"""


def test_each_module_is_told_with_where_it_does_its_work(quick: Run) -> None:
    rows = quick(TWO_MODELS, "--device", "mps").report["placement"]
    where = {name: "device" if on > away else "cpu" for name, on, away in rows}
    assert where == {
        "Big.trunk.0": "cpu",
        "Big.trunk.1": "cpu",
        "Big.head": "device",
        "Linear": "device",
    }


UNSEEDED = """
import random
import torch
import numpy as np
print(random.random(), random.Random().random())
print(np.random.rand(), np.random.default_rng().normal())
print(np.random.RandomState().rand(), np.random.Generator(np.random.PCG64()).random())
print(torch.rand(1))
"""


def test_generators_that_nobody_seeded_draw_the_same_each_time(quick: Run) -> None:
    one, two = (
        quick(UNSEEDED, "--device", device, env={"MPSLINT_SEED": "0"}).out
        for device in ("cpu", "mps")
    )
    assert one == two


SEEDED = """
import random
import torch
import numpy as np
print(random.Random(3).random(), np.random.default_rng(5).normal(), np.random.RandomState(2).rand())
"""


def test_a_seed_of_the_scripts_own_stays_its_seed(quick: Run) -> None:
    with_ours = quick(SEEDED, "--device", "cpu", env={"MPSLINT_SEED": "0"}).out
    assert with_ours == quick(SEEDED, "--device", "cpu").out


WORKERS = """
import torch
from torch.utils.data import DataLoader

def collate(items):
    return torch.stack(items)

def main():
    loader = DataLoader([torch.ones(2)] * 4, 2, num_workers=1, collate_fn={collate})
    print("batches", len([batch.to("{device}") for batch in loader]))

{call}
"""
GUARDED = "if __name__ == '__main__':\n    main()"


@pytest.mark.parametrize("device", ["cuda", "mps"])
def test_workers_that_a_mac_can_start_run(quick: Run, device: str) -> None:
    script = WORKERS.format(collate="collate", device=device, call=GUARDED)
    assert "batches 2" in quick(script, "--device", device).out


WRONG = {
    "a lambda": ("lambda items: collate(items)", GUARDED, "Can't pickle"),
    "no guard": ("collate", "main()", "bootstrapping phase"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_workers_that_a_mac_cannot_start_fail_on_mps_alone(quick: Run, kind: str) -> None:
    collate, call, message = WRONG[kind]
    script = WORKERS.format(collate=collate, device="mps", call=call)
    assert message in quick(script, "--device", "mps").report["error"]["message"]
    script = WORKERS.format(collate=collate, device="cuda", call=call)
    assert "batches 2" in quick(script, "--device", "cuda").out


def test_a_script_that_asks_for_fork_gets_it_on_mps_as_well(quick: Run) -> None:
    script = WORKERS.format(collate="lambda items: collate(items)", device="mps", call=GUARDED)
    script = "import multiprocessing\nmultiprocessing.set_start_method('fork')\n" + script
    assert "batches 2" in quick(script, "--device", "mps").out


LATE = """
import torch
host = torch.ones(3, device="{device}").to("cpu", non_blocking=True)
before = host.sum().item()
torch.{device}.synchronize()
print(before, host.sum().item())
"""


def test_a_copy_to_the_host_that_nobody_waited_for_is_not_there_on_mps(quick: Run) -> None:
    assert quick(LATE.format(device="mps"), "--device", "mps").out.split() == ["nan", "3.0"]


def test_to_memory_that_is_not_pinned_cuda_waits_by_itself(quick: Run) -> None:
    assert quick(LATE.format(device="cuda"), "--device", "cuda").out.split() == ["3.0", "3.0"]


NCCL = """
import torch
import torch.distributed as dist
dist.init_process_group("nccl", init_method="file://{file}", rank=0, world_size=1)
"""


def test_nccl_is_a_limit_of_the_simulation_and_no_fault_of_the_script(
    harness: Run, tmp_path: Path
) -> None:
    report = harness(NCCL.format(file=tmp_path / "store"), "--device", "cuda").report
    assert report["outcome"] == "limit"
    assert report["limits"] == ["NCCL is not simulated"]


COMPILED = """
import torch
from torch import nn

class Model(nn.Module):
    def forward(self, x):
        {inside}
        return x * 2

model = torch.compile(Model(), {options})
print("result", model(torch.ones(2, device="{device}")).sum().item())
"""


def test_a_model_that_must_be_one_graph_is_traced_on_the_cpu(quick: Run) -> None:
    script = COMPILED.format(inside="x = x + 1", options="fullgraph=True", device="cpu")
    assert "result 8.0" in quick(script, "--device", "cpu").out


def test_what_no_graph_can_hold_is_an_error_on_the_cpu(quick: Run) -> None:
    script = COMPILED.format(inside="print(x.sum().item())", options="fullgraph=True", device="cpu")
    assert quick(script, "--device", "cpu").report["error"]["type"] == "Unsupported"


def test_a_graph_that_may_break_is_not_traced(quick: Run) -> None:
    script = COMPILED.format(inside="print(x.sum().item())", options="dynamic=False", device="cpu")
    assert "result 4.0" in quick(script, "--device", "cpu").out


def test_graphs_of_cuda_are_refused_on_mps_alone(quick: Run) -> None:
    ways = {"inside": "pass", "options": "backend='cudagraphs'"}
    on_mps = quick(COMPILED.format(device="mps", **ways), "--device", "mps")
    assert "cudagraphs" in on_mps.report["error"]["message"]
    assert "result 4.0" in quick(COMPILED.format(device="cuda", **ways), "--device", "cuda").out
