"""How far a run goes, and where the runs that are compared with it end."""

from __future__ import annotations

import re
import threading

from mpslint.verify import progress
from mpslint.verify.pace import Pace, asked_for, limit

from .conftest import LIMIT, ended, launch


def test_without_a_number_of_steps_the_program_says_where_the_end_is() -> None:
    first = asked_for(0, 300.0, trains=True)
    assert first == Pace(0, 0, 120.0)
    assert first.after(launch("cuda", outcome="finished")) == Pace(0)


def test_a_run_that_was_cut_off_at_a_step_ends_the_others_there() -> None:
    pace = asked_for(0, 300.0, trains=True).after(launch("cuda", steps=70))
    assert pace.steps == 70
    assert not pace.cut_by_clock(launch("mps", steps=70))
    assert pace.cut_by_clock(launch("mps", steps=69))


def test_inference_that_was_cut_off_ends_after_as_many_forward_passes() -> None:
    served = {"steps": 0, "losses": []}
    pace = asked_for(0, 300.0, trains=False).after(launch("cuda", forwards=500, **served))
    assert pace == Pace(0, 500)
    assert not pace.cut_by_clock(launch("mps", forwards=500, **served))
    assert pace.cut_by_clock(launch("mps", forwards=499, **served))


def test_a_program_that_is_too_long_is_gone_through_in_part() -> None:
    first = asked_for(0, 300.0, trains=True)
    cut = launch("cuda", steps=2000, losses=[0.5] * 2000, ending=ended(seconds=120.0))
    assert first.in_part(cut) == Pace(0, sample=12)
    assert Pace(0, sample=12).after(launch("cuda", outcome="finished")) == Pace(0, sample=12)


def test_slow_steps_are_fewer_and_gathered_gradients_more() -> None:
    first = asked_for(0, 300.0, trains=True)
    slow = launch("cuda", steps=30, losses=[0.5] * 30, ending=ended(seconds=120.0))
    assert first.in_part(slow) == Pace(0, sample=4)
    gathered = launch("cuda", steps=100, losses=[0.5] * 3200, ending=ended(seconds=120.0))
    assert first.in_part(gathered) == Pace(0, sample=96)


def test_what_came_to_its_end_or_did_nothing_is_not_run_in_part() -> None:
    first = asked_for(0, 300.0, trains=True)
    assert first.in_part(launch("cuda", outcome="finished")) is None
    assert first.in_part(launch("cuda", steps=0, forwards=0, losses=[])) is None
    assert asked_for(3, 300.0, trains=True).in_part(launch("cuda")) is None


def test_steps_that_were_asked_for_hold_for_every_run() -> None:
    pace = asked_for(4, 300.0, trains=False)
    assert pace == Pace(4)
    assert pace.after(launch("cuda")) is pace


def test_forward_passes_before_the_first_step_end_no_program_that_trains() -> None:
    assert asked_for(4, 300.0, trains=True).forwards > 1_000_000
    roll_out = launch("mps", steps=0, forwards=4000, losses=[], optimizers=1)
    assert Pace(4).cut_by_clock(roll_out)


def test_a_long_run_says_that_it_goes_on() -> None:
    heard: list[str] = []
    goes_on = threading.Event()

    def hear(line: str) -> None:
        heard.append(line)
        if "so far" in line:
            goes_on.set()

    with progress.told("original on cpu", hear, every=0.01):
        assert goes_on.wait(60)
    assert heard[0] == "original on cpu"
    assert re.fullmatch(r"original on cpu: \d+ s so far", heard[1])


def test_a_port_that_was_cut_short_before_the_others_limit_gets_all_the_time_there_is() -> None:
    cut = launch("cpu", steps=12)
    assert Pace(0).needs_longer(cut, LIMIT + 1)
    assert not Pace(0).needs_longer(cut, LIMIT)
    assert not Pace(12).needs_longer(cut, LIMIT + 1)  # it came to where the others ended
    hangs = launch("cpu", steps=0, forwards=0, losses=[], params_digest=[])
    assert not Pace(0).needs_longer(hangs, LIMIT + 1)


def test_a_port_gets_ten_times_what_its_original_needed_and_never_less_than_some_time() -> None:
    assert limit(launch("cuda", ending=ended(seconds=2.0)), 300.0) == 45.0
    assert limit(launch("cuda", ending=ended(seconds=9.0)), 300.0) == 90.0
    assert limit(launch("cuda", ending=ended(seconds=90.0)), 300.0) == 300.0
    assert limit(None, 300.0) == 300.0
