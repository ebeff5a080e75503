"""What is moved to a device of CUDA in both arms of a test for CUDA raises there, and is told."""

from __future__ import annotations

from tests.worlds.conftest import found

PROGRAM = """\
import torch


def evaluate(model, loader, device="cuda", track=False):
    if track and torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats(device)
        model = model.to(device)
        print(torch.cuda.memory_allocated(device))
    else:
        model = model.to(device)
    return [model(x) for x in loader]


print(evaluate(torch.nn.Linear(2, 2), []))
"""


def test_the_default_is_told_once() -> None:
    assert len(found(PROGRAM, "MPS101")) == 1
