"""What a comparison says of the part of a program that it did not go through."""

from __future__ import annotations

from typing import Any

import pytest

from mpslint.verify import compare, extent
from mpslint.verify.launch import Launch
from mpslint.verify.pace import Pace
from mpslint.verify.report import covering

from .conftest import launch

BATCHES, EVALUATION = ["batches", 12, 480, "", 0], ["batches", 12, 60, "", 0]
EPOCHS, STEPS = ["epochs", 2, 90, "/x/train.py", 7], ["rounds", 12, 5000, "/x/train.py", 18]


def sampled(*parts: list[Any], device: str = "cuda") -> Launch:
    return launch(device, outcome="finished", in_part=list(parts))


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        (sampled(BATCHES, EVALUATION, EPOCHS), "12 of 480 batches an epoch, 2 of 90 epochs"),
        (sampled(BATCHES), "12 of 480 batches"),
        (sampled(STEPS), "12 of 5000 rounds of train.py:18"),
        (sampled(["rounds", 12, None, "/x/t.py", 3]), "the first 12 rounds of t.py:3"),
    ],
)
def test_a_sample_says_of_how_much(reference: Launch, said: str) -> None:
    assert extent.of(reference) == f"sampled: {said}"


def test_a_run_that_was_cut_off_says_where() -> None:
    assert extent.of(launch("cuda", steps=70)) == "only the first 70 optimizer steps"
    assert extent.of(launch("cuda", steps=0, forwards=9)) == "only the first 9 forward passes"


def test_a_run_to_the_end_leaves_nothing_to_be_said() -> None:
    assert extent.of(launch("cuda", outcome="finished")) == ""


def test_the_extent_stands_in_the_first_line_of_a_verdict() -> None:
    far = extent.of(sampled(BATCHES))
    assert covering(("pass", ""), (), (), far) == ("pass", "sampled: 12 of 480 batches")
    said = covering(("ran", "cpu: 3 steps"), (), (), far)
    assert said == ("ran", "sampled: 12 of 480 batches; cpu: 3 steps")
    assert covering(("fail", "cpu: ValueError"), (), (), far) == ("fail", "cpu: ValueError")


def test_a_loader_of_another_length_is_other_work_though_as_many_batches_were_run() -> None:
    original, port = sampled(BATCHES), sampled(["batches", 12, 479, "", 0], device="mps")
    found = compare.work(original, port, Pace(0, sample=12))
    assert found is not None
    assert "479 batches, the original goes through 480 batches" in found.text


def test_loops_may_stand_on_other_lines_and_in_another_order() -> None:
    port = sampled(["epochs", 2, 90, "/x/train.py", 11], BATCHES, device="mps")
    assert compare.work(sampled(BATCHES, EPOCHS), port, Pace(0, sample=12)) is None


def test_a_loop_that_only_one_of_the_two_has_to_shorten_is_other_work() -> None:
    found = compare.work(sampled(BATCHES, EPOCHS), sampled(BATCHES), Pace(0, sample=12))
    assert found is not None
    assert "1 loops are too long to be run whole, of the original 2" in found.text
