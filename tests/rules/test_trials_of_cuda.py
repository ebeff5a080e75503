"""Selections that try CUDA, or count its devices, where others ask whether it is there."""

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

TRIAL = """\
import torch

try:
    {}
    device = torch.device("cuda")
except {}:
    device = torch.device({})
net = torch.nn.Linear(3, 3).to(device)
"""
PORTABLE = '"mps" if torch.backends.mps.is_available() else "cpu"'


def told(text: str) -> list[tuple[str, int, str]]:
    found = lint(SourceFile("program.py", text.encode()), Settings())
    return [(one.code, one.row, one.severity.name.lower()) for one in found]


@pytest.mark.parametrize(
    ("trial", "code"),
    [
        ("torch.cuda.current_device()", "MPS103"),
        ("torch.cuda.init()", "MPS103"),
        ('torch.zeros(1, device="cuda")', "MPS103"),
        ("torch.zeros(1).cuda()", "MPS102"),
        ("_ = torch.zeros(1).cuda()", "MPS102"),
    ],
)
@pytest.mark.parametrize("error", ["(AssertionError, RuntimeError)", "Exception"])
def test_a_trial_of_cuda_that_leaves_mps_out_is_told_once(
    trial: str, code: str, error: str
) -> None:
    assert told(TRIAL.format(trial, error, '"cpu"')) == [(code, 4, "ignores")]


@pytest.mark.parametrize("trial", ["torch.cuda.current_device()", "torch.zeros(1).cuda()"])
def test_a_trial_behind_which_mps_is_asked_for_leaves_nothing_out(trial: str) -> None:
    assert not told(TRIAL.format(trial, "Exception", PORTABLE))


@pytest.mark.parametrize("trial", ["print(1)", "torch.cuda.synchronize()", "torch.ones(1)"])
def test_what_is_no_trial_keeps_nobody_from_what_follows(trial: str) -> None:
    text = TRIAL.format(trial, "Exception", '"cpu"')
    assert ("MPS101", 5, "breaks") in told(text)


def test_a_long_block_is_no_trial() -> None:
    work = "torch.cuda.init()\n    print(1)\n    print(2)\n    print(3)"
    assert ("MPS101", 8, "breaks") in told(TRIAL.format(work, "Exception", '"cpu"'))


def test_a_handler_for_another_error_catches_no_trial() -> None:
    assert ("MPS102", 4, "breaks") in told(
        TRIAL.format("torch.zeros(1).cuda()", "ValueError", '"cpu"')
    )


COUNTED = """\
import torch


def try_gpu(i=0):
    if torch.cuda.device_count() >= {}:
        return torch.device(f"cuda:{{i}}")
    return torch.device("cpu")


net = torch.nn.Linear(2, 2).to(try_gpu())
"""


def test_a_count_that_has_no_such_gpu_selects_the_cpu() -> None:
    assert told(COUNTED.format("i + 1")) == [("MPS103", 5, "ignores")]


def test_a_count_that_any_machine_has_sends_a_mac_to_cuda() -> None:
    assert ("MPS101", 6, "breaks") in told(COUNTED.format("0"))


def test_what_is_made_on_cuda_and_read_is_no_trial() -> None:
    text = TRIAL.format("x = torch.zeros(1).cuda()", "Exception", '"cpu"') + "print(x)\n"
    assert ("MPS101", 5, "breaks") in told(text)
