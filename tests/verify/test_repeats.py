"""Originals whose numbers change from run to run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mpslint.verify import spread, verdict
from mpslint.verify.contents import Text
from mpslint.verify.launch import Launch
from mpslint.verify.numbers import Printed
from mpslint.verify.pace import Pace
from mpslint.verify.repeats import Repeats
from mpslint.verify.verdict import Basis, Judgement

from .conftest import ended, launch


def runs(*losses: list[float], device: str = "cuda") -> list[Launch]:
    return [launch(device, losses=list(some)) for some in losses]


THREE = runs([1.0, 0.9, 0.8], [1.1, 0.95, 0.82], [0.98, 0.91, 0.85])


def judged(port: Launch, original: list[Launch]) -> Judgement:
    again: Iterator[Launch] = iter(original[1:])
    repeats = Repeats(lambda _reference: next(again))
    basis = Basis(original[0], (), lambda: repeats.of(original[0]), lambda _run: None, Pace(3))
    return verdict.judge(port, basis)


def test_an_original_that_repeats_itself_is_run_twice() -> None:
    asked: list[Launch] = []
    reference = launch("cuda")

    def again(one: Launch) -> Launch:
        asked.append(one)
        return one

    repeats = Repeats(again)
    assert not repeats.of(reference).changes
    assert repeats.of(reference).values
    assert len(asked) == 1


def unasked(_reference: Launch) -> Launch:
    raise AssertionError("the original is run again")


def printing(text: str, losses: list[float], device: str = "cuda") -> Launch:
    return launch(device, losses=losses, ending=ended(stdout=text))


def test_a_port_with_the_very_same_numbers_in_the_same_place_is_the_second_run() -> None:
    reference = printing("loss 0.25\n", [1.0, 0.25])
    port = printing("loss 0.25 now\n", [1.0, 0.25])
    elsewhere = printing("loss 0.25\n", [1.0, 0.250001], "mps")
    found = Repeats(unasked).of(reference, [elsewhere, port])
    assert found.values
    assert not found.changes
    assert found.runs == (reference, port)


@pytest.mark.parametrize(
    ("port", "why"),
    [
        (printing("loss 0.25\n", [1.0, 0.26]), "another loss"),
        (printing("loss 0.25\n", [1.0]), "fewer losses"),
        (printing("loss 0.26\n", [1.0, 0.25]), "another printed number"),
        (printing("loss 0.25\nepoch 3\n", [1.0, 0.25]), "one more line"),
        (printing("loss 0.25\n", [1.0, 0.25], "mps"), "another device"),
    ],
)
def test_one_that_differs_says_nothing_about_the_original(port: Launch, why: str) -> None:
    reference = printing("loss 0.25\n", [1.0, 0.25])
    again = printing("loss 0.25\n", [1.0, 0.25])
    assert Repeats(lambda _one: again).of(reference, [port]).runs == (reference, again), why


def test_where_there_are_no_numbers_the_same_ones_prove_nothing() -> None:
    silent, port, again = (launch("cuda", losses=[], params_digest=[]) for _ in range(3))
    assert Repeats(lambda _one: again).of(silent, [port]).runs[1] is again


def test_one_that_does_not_is_run_three_times() -> None:
    again = iter(THREE[1:])
    found = Repeats(lambda _one: next(again)).of(THREE[0])
    assert not found.values
    assert len(found.runs) == 3


def test_a_number_that_is_the_same_twice_by_chance_is_not_held_against_a_port() -> None:
    original = [launch("cuda", ending=ended(stdout=f"seen {a} of {b}\n0.25\n")) for a, b in
                ((1, 5), (1, 6), (2, 7))]  # fmt: skip
    again = iter(original[1:])
    found = Repeats(lambda _one: next(again)).of(original[0])
    assert set(found.unstable_lines) == {(0, 0), (0, 1)}
    port = launch("cuda", ending=ended(stdout="seen 3 of 8\n0.25\n"))
    assert judged(port, original).verdict == "pass"


def test_what_a_file_holds_anew_in_any_of_the_runs_is_left_out() -> None:
    def saving(*values: float) -> Launch:
        lines = (tuple(Printed(value, 0.0) for value in values),)
        return launch("cuda")._replace(saved={"a.txt": Text(lines)})

    again = iter([saving(1, 9, 3), saving(1, 2, 8)])
    found = Repeats(lambda _one: next(again)).of(saving(1, 2, 3))
    assert found.unstable_files == {"a.txt": {(0, 1), (0, 2)}}


def test_a_port_near_the_originals_runs_ran() -> None:
    found = judged(runs([1.05, 0.93, 0.86], device="mps")[0], THREE)
    assert found.verdict == "ran"
    assert "numbers not compared: the original's own change from run to run" in found.reason
    assert "near those of 3 runs" in found.reason


def test_a_port_far_from_all_of_them_is_told() -> None:
    found = judged(runs([9.0, 8.0, 7.0], device="mps")[0], THREE)
    assert found.verdict == "inconclusive"
    assert "its losses are on the average 8, those of 3 runs of the original 0.9 to 0.9567" in (
        found.reason
    )


def test_losses_that_do_not_fall_are_seen_at_the_end() -> None:
    original = runs([1.0, 0.5, 0.1, 0.01], [1.5, 0.6, 0.1, 0.011], [0.9, 0.4, 0.1, 0.009])
    (stuck,) = runs([1.0, 0.4, 0.2, 0.19])
    assert "its last losses" in str(spread.outside(original, stuck))


def test_losses_that_are_no_numbers_lie_outside() -> None:
    assert spread.outside(THREE, runs([float("nan")] * 3)[0]) is not None
    assert spread.outside(runs(*[[float("nan")]] * 3), THREE[0]) is None
