"""What a wait for CUDA leaves undone on MPS in a loop was queued in the turn before."""

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

BENCHMARK = """\
import time

import torch

BACKENDS = ("cuda", "mps", "cpu")


def bench(model, device, runs):
    model = model.to(device)
    x = torch.rand(8, 8, device=device)
    start = time.perf_counter()
    for turn in range(runs):
        if turn == 10:
            if device.type == "cuda":
                torch.cuda.synchronize()
            total = 0
            {clock}
        {work}
    return start
"""
CLOCK = "start = time.perf_counter()"


def rows(clock: str, work: str) -> list[int]:
    program = BENCHMARK.format(clock=clock, work=work)
    found = lint(SourceFile("program.py", program.encode()), Settings())
    return [finding.row for finding in found if finding.code == "MPS602"]


@pytest.mark.parametrize("work", ["model(x)", "x.sum().item()\n        y = model(x)"])
def test_a_clock_that_is_set_back_counts_what_the_turns_before_have_queued(work: str) -> None:
    assert rows(CLOCK, work) == [15]


@pytest.mark.parametrize(
    ("clock", "work"),
    [
        (CLOCK, "print(model(x).sum().item())"),
        (CLOCK, "total += 1"),
        ("start = turn", "model(x)"),
    ],
)
def test_a_turn_that_ends_in_a_wait_and_one_without_a_clock_leave_nothing(
    clock: str, work: str
) -> None:
    assert rows(clock, work) == []
