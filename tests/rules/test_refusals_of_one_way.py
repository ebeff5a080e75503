"""Who is refused one way of doing the work, and may choose the other, is not refused."""

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

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
        {way}
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
    way: str = "return run_parallel(jobs)",
) -> bool:
    words = {"switch": switch, "asked": asked or switch, "other": other, "more": more}
    program = PROGRAM.format(**words, given=given, way=way)
    found = lint(SourceFile("program.py", program.encode()), Settings(select=("MPS118",)))
    return bool(list(found))


def test_a_refusal_of_a_way_beside_which_there_is_another_is_not_told() -> None:
    assert not is_told()
    assert not is_told("fast", more="fast", given="sys.argv[2] == 'fast'")


@pytest.mark.parametrize(
    "other",
    [
        "raise ValueError(config)",
        "pass",
        "raise ValueError(run_serial(jobs))",
        'print("one device", len(jobs))',
        'logger.warning("one device of %s", str(config))',
        "if len(jobs) > 3: logging.critical(jobs)",
        "notes = jobs",
        "close(jobs); sys.exit(2)",
    ],
)
def test_a_refusal_beside_which_there_is_no_other_way_is_told(other: str) -> None:
    assert is_told(other=other)


@pytest.mark.parametrize("way", ["print('several devices')", "jobs = jobs[1:]"])
def test_a_switch_that_elsewhere_decides_no_work_is_told(way: str) -> None:
    assert is_told(way=way)


@pytest.mark.parametrize(
    "other", ["print(len(jobs)); run_serial(jobs)", "results = run_serial(jobs)"]
)
def test_a_way_of_which_the_program_speaks_is_a_way(other: str) -> None:
    assert not is_told(other=other)


def test_a_refusal_of_what_another_switch_decides_is_told() -> None:
    assert is_told(asked="config.verbose")


def test_a_refusal_of_what_is_done_by_default_is_told() -> None:
    assert is_told("fast", more="quiet=False, fast=True", given="quiet=True")
