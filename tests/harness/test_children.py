"""A worker that has done its steps is ended; what its parent makes of that is no fault of its."""

from __future__ import annotations

import pytest

from mpslint.verify.harness.children import _Activity

from .conftest import Run

TRAINING = """
import time
import torch
import torch.multiprocessing as mp

def train():
    model = torch.nn.Linear(2, 1).to("mps")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        optimizer.zero_grad()
        model(torch.ones(4, 2, device="mps")).sum().backward()
        optimizer.step()

def to_queue(rank, queue):
    train()
    queue.put(rank)

def to_pipe(rank, pipe):
    train()
    pipe.send(rank)

def work(rank):
    train()
    return rank

if __name__ == "__main__":
    context = mp.get_context("spawn")
"""

WAITING = {
    "for a queue": """
    queue = context.Queue()
    workers = mp.spawn(to_queue, args=(queue,), nprocs=2, join=False)
    print(queue.get())
""",
    "for a queue, in Python": """
    queue = context.Queue()
    workers = mp.spawn(to_queue, args=(queue,), nprocs=1, join=False)
    while queue.empty():
        time.sleep(0.05)
""",
    "for a pool": """
    with context.Pool(1) as pool:
        print(pool.map(work, [0]))
""",
    "for a pipe that ends": """
    ours, theirs = context.Pipe(duplex=False)
    worker = context.Process(target=to_pipe, args=(0, theirs))
    worker.start()
    theirs.close()
    print(ours.recv())
""",
    "for an executor that breaks": """
    from concurrent.futures import ProcessPoolExecutor
    with ProcessPoolExecutor(1, mp_context=context) as executor:
        print(executor.submit(work, 0).result())
""",
}


@pytest.mark.parametrize("parent", WAITING)
def test_a_parent_that_waits_for_a_stopped_worker_has_been_stopped(
    harness: Run, parent: str
) -> None:
    run = harness(TRAINING + WAITING[parent], "--device", "mps", "--steps", "3")
    assert (run.code, run.report["outcome"], run.report["error"]) == (0, "stopped", None), run.err
    assert run.report["steps"] in (3, 6)


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_a_parent_that_waits_for_a_failed_worker_has_failed(harness: Run, method: str) -> None:
    script = f"""
    context = mp.get_context("{method}")
    queue = context.Queue()
    context.Process(target=to_queue, args=("no rank",)).start()
    print(queue.get())
"""
    run = harness(TRAINING + script, "--device", "mps", "--steps", "3")
    assert (run.code, run.report["outcome"]) == (1, "error"), run.err
    assert run.report["error"]["type"] == "WorkerFailed"


def test_a_worker_that_takes_its_time_to_fail_is_waited_for(harness: Run) -> None:
    script = """
import atexit
def slowly(rank):
    torch.ones(1, device="mps")
    atexit.register(time.sleep, 8)
    raise ValueError("no accuracy")

if __name__ == "__main__":
    mp.spawn(slowly, nprocs=1)
"""
    run = harness(TRAINING + script, "--device", "mps")
    assert run.report["error"]["type"] == "ProcessRaisedException"
    assert "no accuracy" in run.report["error"]["message"]


def test_a_parent_that_works_on_is_left_alone(harness: Run) -> None:
    script = """
    mp.spawn(to_queue, args=(context.Queue(),), nprocs=1)
    end = time.monotonic() + 8
    while time.monotonic() < end:
        torch.ones(100, 100) @ torch.ones(100, 100)
    print("evaluated")
"""
    run = harness(TRAINING + script, "--device", "mps", "--steps", "3")
    assert (run.report["outcome"], run.out) == ("finished", "evaluated\n"), run.err


def test_an_error_of_the_parents_own_still_counts(harness: Run) -> None:
    script = """
    mp.spawn(work, nprocs=1)
    raise ValueError("no accuracy")
"""
    run = harness(TRAINING + script, "--device", "mps", "--steps", "3")
    assert (run.code, run.report["outcome"]) == (1, "error")
    assert run.report["error"]["message"] == "no accuracy"


def test_a_process_that_waits_for_a_processor_is_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([(1.0, 0.0, 10.0), (1.005, 0.48, 10.5), (1.010, 0.48, 11.0)])
    monkeypatch.setattr(_Activity, "_now", lambda _self: next(times))
    activity = _Activity()
    assert activity.since_last_asked()  # it ran for 5 ms of the 20 in which it could
    assert not activity.since_last_asked()  # of all the 500
