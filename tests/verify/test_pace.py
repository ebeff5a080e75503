"""How far a run goes, and where the runs that are compared with it end."""

from __future__ import annotations

import threading

from mpslint.verify import progress
from mpslint.verify.pace import Pace, asked_for

from .conftest import launch


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
    assert heard[1].startswith("original on cpu: 0 s so far")
