"""What the harness records for a comparison across devices: clocks, losses, other rounding."""

from __future__ import annotations

import pytest

from tests.harness.conftest import Run

TIMED = """
import time
import torch
model = torch.nn.Linear(4, 4).to("{device}")
x = torch.randn(8, 4, device="{device}")
start = time.perf_counter()
for _ in range(10):
    y = model(x).sum()
handed_over = time.perf_counter()
y.item()
read = time.time()
torch.{device}.synchronize()
done = time.monotonic()
"""


@pytest.mark.parametrize("device", ["cuda", "mps"])
def test_each_clock_is_kept_with_the_work_that_the_device_had_left(quick: Run, device: str) -> None:
    clocks = quick(TIMED.format(device=device), "--device", device).report["clocks"]
    _, handed_over, read, done = clocks
    assert handed_over[0] - handed_over[1] >= 20
    assert read[0] == read[1]
    assert not read[2]
    assert done[0] == done[1]
    assert done[2]


def test_clocks_of_libraries_are_not_the_scripts(quick: Run) -> None:
    script = "import logging\nimport torch\nlogging.warning('now')\n"
    assert quick(script, "--device", "cpu").report["clocks"] == []


SCALED = """
import torch
device = "{device}"
model = torch.nn.Linear(2, 1).to(device)
scaler = torch.amp.GradScaler(device, enabled=device == "cuda", init_scale=1024.0)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
torch.manual_seed(0)
with torch.no_grad():
    for parameter in model.parameters():
        parameter.fill_(0.5)
for _ in range(3):
    loss = model(torch.ones(4, 2, device=device)).square().mean()
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""


def test_a_scaled_loss_is_told_as_the_loss_that_it_is(quick: Run) -> None:
    one, two = (
        quick(SCALED.format(device=device), "--device", device).report["losses"]
        for device in ("cuda", "mps")
    )
    assert one == pytest.approx(two, rel=1e-6)


TRAINED = """
import torch
torch.manual_seed(1)
model = torch.nn.Linear(3, 1).to("{device}")
optimizer = torch.optim.SGD(model.parameters(), 0.01)
for _ in range(3):
    loss = model(torch.randn(8, 3, device="{device}")).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(torch.rand(1).item())
"""


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_weights_can_be_moved_by_rounding_errors_and_nothing_else_is(
    quick: Run, device: str
) -> None:
    script = TRAINED.format(device=device)
    plain = quick(script, "--device", device)
    moved = quick(script, "--device", device, "--nudge", "1")
    assert moved.report["losses"] != plain.report["losses"]
    assert moved.report["losses"] == pytest.approx(plain.report["losses"], rel=1e-5)
    assert moved.out == plain.out
    assert moved.report["device_ops"] == plain.report["device_ops"]


DRAWN = """
import torch
where = torch.device("{where}")
x = torch.rand(3, 4, device=where).to("cuda")
y = torch.empty(5, device="cuda").normal_()
own = torch.Generator("cuda").manual_seed(1)
z = torch.rand(7, device="cuda", generator=own)
print((x.sum() + y.sum()).item())
"""


def test_random_numbers_are_counted_where_they_are_drawn(quick: Run) -> None:
    shared = {"MPSLINT_SHARED_GENERATOR": "1"}
    there, here = (
        quick(DRAWN.format(where=where), "--device", "cuda", env=shared)
        for where in ("cuda", "cpu")
    )
    assert there.out == here.out
    assert (there.report["drawn"], here.report["drawn"]) == (17, 5)


HALVED = """
import torch
model = torch.nn.Linear(64, 1).to("cuda")
x = torch.linspace(0.1, 3, 256, device="cuda").reshape(4, 64)
with torch.autocast("cuda", dtype=torch.float16):
    y = model(x)
print(y.dtype)
"""


def test_autocast_can_be_switched_off_from_outside(quick: Run) -> None:
    assert "torch.float16" in quick(HALVED, "--device", "cuda").out
    assert "torch.float32" in quick(HALVED, "--device", "cuda", "--full-precision").out


WIDENED = """
import torch
x = torch.randn(3, 4, device="cuda", dtype=torch.half, requires_grad=True)
for function in (torch.softmax, torch.log_softmax):
    y = function(x, 1, dtype=torch.float32)
    y.square().sum().backward()
    print(y.dtype, x.grad.dtype)
"""


def test_softmax_widens_half_numbers_on_cuda(quick: Run) -> None:
    out = quick(WIDENED, "--device", "cuda").out
    assert out.count("torch.float32 torch.float16") == 2
