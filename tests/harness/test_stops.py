"""A run ends after the wanted number of steps, whatever the script does about it."""

from __future__ import annotations

import pytest

from mpslint.verify.harness.recorder import is_looked_at

from .conftest import Run

TRAINING = """
import torch
model = torch.nn.Linear(2, 1).to("mps")
optimizer = torch.optim.Adam(model.parameters())
def step():
    optimizer.zero_grad()
    model(torch.ones(4, 2, device="mps")).sum().backward()
    optimizer.step()
"""


def test_a_training_loop_ends_after_the_steps_asked_for(quick: Run) -> None:
    run = quick(TRAINING + "while True:\n    step()\n", "--device", "mps", "--steps", "4")
    assert (run.code, run.report["outcome"]) == (0, "stopped")
    assert run.report["steps"] == 4
    assert len(run.report["losses"]) == 4
    assert [row["step"] for row in run.report["params_digest"]] == [1, 2, 3, 4]


def test_the_weights_of_a_long_run_are_looked_at_to_its_end() -> None:
    looked = [step for step in range(1, 100_001) if is_looked_at(step)]
    assert looked[:60] == list(range(1, 61))
    assert looked[-1] > 95_000
    assert len(looked) < 500


def test_three_steps_are_the_default(quick: Run) -> None:
    run = quick(TRAINING + "while True:\n    step()\n", "--device", "mps")
    assert run.report["steps"] == 3


def test_zero_steps_mean_no_limit(quick: Run) -> None:
    script = TRAINING + "for _ in range(6):\n    step()\nprint('done')\n"
    run = quick(script, "--device", "mps", "--steps", "0")
    assert (run.report["outcome"], run.report["steps"], run.out) == ("finished", 6, "done\n")


def test_except_exception_does_not_swallow_the_stop(quick: Run) -> None:
    script = (
        TRAINING + "while True:\n    try:\n        step()\n    except Exception:\n        pass\n"
    )
    run = quick(script, "--device", "mps")
    assert (run.code, run.report["outcome"], run.report["steps"]) == (0, "stopped", 3)


def test_a_bare_except_does_not_keep_the_run_alive(quick: Run) -> None:
    script = TRAINING + "while True:\n    try:\n        step()\n    except:\n        pass\n"
    run = quick(script, "--device", "mps")
    assert (run.code, run.report["outcome"]) == (0, "stopped")
    assert run.report["steps"] <= 4


def test_finally_blocks_run_before_the_end(quick: Run) -> None:
    script = TRAINING + "try:\n    while True:\n        step()\nfinally:\n    print('saved')\n"
    run = quick(script, "--device", "mps")
    assert (run.out, run.report["outcome"]) == ("saved\n", "stopped")


def test_an_exit_code_after_the_stop_does_not_count(quick: Run) -> None:
    script = (
        TRAINING
        + "import sys\ntry:\n    while True:\n        step()\nexcept BaseException:\n    sys.exit(3)\n"  # noqa: E501
    )
    run = quick(script, "--device", "mps")
    assert (run.code, run.report["outcome"]) == (0, "stopped")


def test_inference_ends_after_eight_times_as_many_forward_passes(quick: Run) -> None:
    script = (
        "import torch\nmodel = torch.nn.Sequential(torch.nn.Linear(2, 1)).to('mps')\n"
        "with torch.no_grad():\n    while True:\n        model(torch.ones(1, 2, device='mps'))\n"
    )
    run = quick(script, "--device", "mps", "--steps", "2")
    assert (run.code, run.report["outcome"]) == (0, "stopped")
    assert (run.report["forwards"], run.report["steps"]) == (16, 0)


@pytest.mark.parametrize("loop", ["pass", "step()", "import time; time.sleep(0.01)"])
def test_seconds_end_any_loop(quick: Run, loop: str) -> None:
    script = "print('training', flush=True)\n" + TRAINING + f"while True:\n    {loop}\n"
    for seconds in ("4", "20", "100"):  # a slow machine has not begun when the time is up
        run = quick(script, "--device", "mps", "--steps", "0", "--seconds", seconds)
        if run.out:
            break
    assert (run.code, run.report["outcome"], run.out) == (0, "stopped", "training\n")


HOOKED = """
import time, torch, traceback
w = torch.ones(2, requires_grad=True)
w.register_hook(lambda gradient: time.sleep(0.05))
try:
    while True:
        w.sum().backward()
except BaseException as error:
    inside = {frame.name for frame in traceback.extract_tb(error.__traceback__)}
    print("_engine_run_backward" in inside)
    raise
"""


def test_the_clock_does_not_strike_in_a_backward_pass(quick: Run) -> None:
    for seconds in ("1", "8", "60"):  # a slow machine has not begun when the time is up
        run = quick(HOOKED, "--device", "cpu", "--steps", "0", "--seconds", seconds)
        if run.out:
            break
    assert (run.report["outcome"], run.out) == ("stopped", "False\n")


def test_training_in_a_thread_ends_too(quick: Run) -> None:
    script = (
        TRAINING
        + "import threading\ndef loop():\n    while True:\n        step()\n"
        + "thread = threading.Thread(target=loop)\nthread.start()\nthread.join()\nprint('joined')\n"
    )
    run = quick(script, "--device", "mps")
    assert (run.code, run.report["outcome"], run.out) == (0, "stopped", "joined\n")
    assert "Traceback" not in run.err


ROLL_OUT = TRAINING + "for _ in range(40):\n    model(torch.ones(1, 2, device='mps'))\n"


def test_a_roll_out_does_not_use_up_the_steps(quick: Run) -> None:
    run = quick(ROLL_OUT + "while True:\n    step()\n", "--device", "mps", "--steps", "2")
    assert (run.report["outcome"], run.report["steps"]) == ("stopped", 2)
    assert run.report["forwards"] == 42


def test_patience_ends_a_run_at_a_step(quick: Run) -> None:
    script = TRAINING + "while True:\n    step()\n    print('done', flush=True)\n"
    run = quick(script, "--device", "mps", "--steps", "0", "--patience", "0.2")
    assert run.report["outcome"] == "stopped"
    assert run.out == "done\n" * (run.report["steps"] - 1)


def test_patience_lets_a_short_run_come_to_its_end(quick: Run) -> None:
    script = TRAINING + "for _ in range(5):\n    step()\n"
    run = quick(script, "--device", "mps", "--steps", "0", "--patience", "600")
    assert (run.report["outcome"], run.report["steps"]) == ("finished", 5)


def test_forward_passes_end_what_trains_nothing(quick: Run) -> None:
    script = "import torch\nm = torch.nn.Linear(2, 1).to('mps')\nx = torch.ones(1, 2).to('mps')\n"
    loop = "while True:\n    m(x)\n"
    run = quick(script + loop, "--device", "mps", "--steps", "0", "--forwards", "5")
    assert (run.report["outcome"], run.report["forwards"]) == ("stopped", 5)
