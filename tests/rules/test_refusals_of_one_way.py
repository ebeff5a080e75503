"""Who is refused one way of doing the work, and may choose the other, is not refused."""

from __future__ import annotations

import pytest

from mpslint.linter import lint
from mpslint.settings import Settings
from mpslint.source import SourceFile

PROGRAM = """\
import sys
import torch

def run_parallel(jobs):
    return [start(job, torch.device("cuda", n)) for n, job in enumerate(jobs)]

def run_serial(jobs):
    return [job.run() for job in jobs]

def train(config, {more}):
    if {switch}:
        assert torch.cuda.device_count() > 0, "Please set parallel=False."
    jobs = make_jobs(config)
    if {asked}:
        return run_parallel(jobs)
    else:
        {other}

train(load(sys.argv[1]), {given})
"""


def is_told(
    switch: str = "config.parallel",
    asked: str = "",
    other: str = "return run_serial(jobs)",
    more: str = "quiet",
    given: str = "True",
) -> bool:
    asked = asked or switch
    program = PROGRAM.format(switch=switch, asked=asked, other=other, more=more, given=given)
    found = lint(SourceFile("program.py", program.encode()), Settings(select=("MPS118",)))
    return bool(list(found))


def test_a_refusal_of_a_way_beside_which_there_is_another_is_not_told() -> None:
    assert not is_told()
    assert not is_told("fast", more="fast", given="sys.argv[2] == 'fast'")


@pytest.mark.parametrize(
    "other", ["raise ValueError(config)", "pass", "raise ValueError(run_serial(jobs))"]
)
def test_a_refusal_beside_which_there_is_no_other_way_is_told(other: str) -> None:
    assert is_told(other=other)


def test_a_refusal_of_what_another_switch_decides_is_told() -> None:
    assert is_told(asked="config.verbose")


def test_a_refusal_of_what_is_done_by_default_is_told() -> None:
    assert is_told("fast", more="quiet=False, fast=True", given="quiet=True")
