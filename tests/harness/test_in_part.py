"""A sample of a long run: it goes through its loops in part, and comes to its own end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mpslint.verify.harness.loops import Loops, length
from mpslint.verify.harness.recorder import RECORDER

from .conftest import Run

MODEL = """
import torch
from torch.utils.data import DataLoader, IterableDataset, TensorDataset
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
def train(x=torch.ones(4, 2)):
    optimizer.zero_grad()
    model(x).sum().backward()
    optimizer.step()
data = TensorDataset(torch.arange(206.0).reshape(103, 2))
"""


@pytest.fixture
def sampled(quick: Run, tmp_path: Path) -> Any:
    """Runs a script and gives what it printed and which loops were gone through in part."""

    def run(script: str, rounds: int = 6) -> tuple[list[str], list[Any]]:
        options = ["--steps", "0", "--sample", str(rounds), "--project", str(tmp_path)]
        run = quick(MODEL + script, "--device", "cpu", *options)
        assert run.report["outcome"] == "finished", run.err
        return run.out.split("\n")[:-1], [row[:3] for row in run.report["in_part"]]

    return run


def test_a_loader_ends_with_its_last_partial_batch(sampled: Any) -> None:
    loop = "for i, (x,) in enumerate(loader):\n    print(i, len(x), int(x[-1, 1]), len(loader))\n"
    out, in_part = sampled("loader = DataLoader(data, batch_size=10)\n" + loop, 3)
    assert out == ["0 10 179 3", "1 10 199 3", "2 3 205 3"]
    assert in_part == [["batches", 3, 11]]


def test_a_shuffled_loader_gives_the_batches_that_it_would_have_given(
    sampled: Any, quick: Run
) -> None:
    script = (
        "torch.manual_seed(0)\nloader = DataLoader(data, batch_size=10, shuffle=True)\n"
        "print(*[x.sum().item() for x, in loader][-3:], torch.rand(1).item())\n"
    )
    whole = quick(MODEL + script, "--device", "cpu", "--steps", "0")
    assert sampled(script, 3)[0] == whole.out.split("\n")[:-1]


def test_worker_processes_load_the_last_batches(sampled: Any) -> None:
    script = (
        "for epoch in range(2):\n"
        "    print([len(x) for x, in DataLoader(data, batch_size=10, num_workers=2)])\n"
    )
    assert sampled(script, 3)[0] == ["[10, 10, 3]"] * 2


def test_a_loader_without_a_length_is_left_alone(sampled: Any) -> None:
    script = (
        "class Stream(IterableDataset):\n"
        "    def __iter__(self):\n        return iter(range(20))\n"
        "print(sum(1 for _ in DataLoader(Stream(), batch_size=1)))\n"
    )
    assert sampled(script, 3) == (["20"], [])


def test_of_many_epochs_the_first_and_the_last_are_run(sampled: Any) -> None:
    script = (
        "for epoch in range(90):\n    for (x,) in DataLoader(data, batch_size=10):\n"
        "        train(x)\n    print(epoch)\n"
    )
    out, in_part = sampled(script)
    assert out == ["0", "89"]
    assert in_part == [["batches", 6, 11], ["epochs", 2, 90]]


def test_of_many_steps_the_first_and_the_last_ones_are_run(sampled: Any) -> None:
    out, in_part = sampled("for step in range(1000):\n    train()\n    print(step)\n")
    assert out == ["0", "1", "2", "997", "998", "999"]
    assert in_part == [["rounds", 6, 1000]]


def test_an_evaluation_between_steps_does_not_make_them_epochs(sampled: Any) -> None:
    script = (
        "for step in range(1000):\n    train()\n    print(step)\n    if step % 100 == 0:\n"
        "        for (x,) in DataLoader(data, batch_size=50):\n            model(x)\n"
    )
    assert sampled(script)[0] == ["0", "1", "2", "997", "998", "999"]


def test_batches_in_a_list_keep_their_numbers(sampled: Any) -> None:
    script = (
        "batches = torch.ones(103, 2).split(10)\n"
        "for i, x in enumerate(batches):\n    train(x)\n    print(i, len(x))\n"
    )
    out, in_part = sampled(script, 4)
    assert out == ["0 10", "1 10", "9 10", "10 3"]
    assert in_part == [["rounds", 4, 11]]


def test_of_a_generator_the_first_rounds_are_run(sampled: Any) -> None:
    script = (
        "def batches():\n    while True:\n        yield torch.ones(1, 2)\n"
        "for x in batches():\n    train(x)\nprint('done')\n"
    )
    assert sampled(script) == (["done"], [["rounds", 6, None]])


def test_a_loop_with_a_condition_ends_after_its_first_rounds(sampled: Any) -> None:
    script = "step = 0\nwhile step < 1000:\n    train()\n    step += 1\nelse:\n    print(step)\n"
    assert sampled(script) == (["6"], [["rounds", 6, None]])


def test_epochs_of_a_loop_with_a_condition_are_epochs(sampled: Any) -> None:
    script = (
        "epoch = 0\nwhile not (done := epoch == 90):\n    epoch += 1\n"
        "    for (x,) in DataLoader(data, batch_size=10):\n        train(x)\nprint(epoch, done)\n"
    )
    assert sampled(script) == (["2 False"], [["batches", 6, 11], ["epochs", 2, None]])


def test_a_loop_that_is_entered_again_begins_again(sampled: Any) -> None:
    script = (
        "def fit(left):\n    while left:\n        train()\n        left -= 1\n    return left\n"
        "print(fit(4), fit(4), fit(40))\n"
    )
    assert sampled(script) == (["0 0 34"], [["rounds", 6, None]])


def test_an_endless_loop_is_left_where_it_breaks(sampled: Any) -> None:
    script = (
        "step = 0\nwhile True:\n    train()\n    step += 1\n    if step == 1000:\n        break\n"
        "print(step)\n"
    )
    assert sampled(script) == (["6"], [["rounds", 6, None]])


def test_an_endless_loop_that_only_returns_is_whole(sampled: Any) -> None:
    script = (
        "def fit(step=0):\n    while True:\n        train()\n        step += 1\n"
        "        for _ in range(2):\n            break\n"
        "        if step == 40:\n            return step\nprint(fit())\n"
    )
    assert sampled(script) == (["40"], [])


def test_a_condition_in_which_nothing_is_computed_decides_alone(sampled: Any) -> None:
    script = "n = []\nwhile len(n) < 500:\n    n.append(0)\ntrain()\nprint(len(n))\n"
    assert sampled(script) == (["500"], [])


def test_a_short_loop_and_one_that_computes_nothing_are_whole(sampled: Any) -> None:
    script = (
        "for _ in range(6):\n    train()\nfound = []\nfor i in range(5000):\n    found.append(i)\n"
        "print(len(found))\n"
    )
    assert sampled(script) == (["5000"], [])


def test_the_rounds_in_which_nothing_is_computed_do_not_count(sampled: Any) -> None:
    script = (
        "for step in range(100):\n    print(step)\n    if step < 10:\n        continue\n"
        "    train()\n"
    )
    assert sampled(script, 4)[0] == [*map(str, range(12)), "98", "99"]


def test_break_and_else_mean_what_they_did(sampled: Any) -> None:
    script = (
        "for step in range(100):\n    train()\n    if step == 1:\n        break\n"
        "else:\n    print('no')\n"
        "for step in range(100):\n    train()\nelse:\n    print('whole', step)\n"
    )
    assert sampled(script)[0] == ["whole 99"]


def test_modules_of_the_project_are_gone_through_in_part_too(sampled: Any, tmp_path: Path) -> None:
    (tmp_path / "fitting.py").write_text(
        "def fit(train):\n    for step in range(50):\n        train()\n    return step\n"
    )
    script = "import fitting\nprint(fitting.fit(train), optimizer.state_dict()['state'])\n"
    assert sampled(script)[1] == [["rounds", 6, 50]]


def test_a_file_elsewhere_is_left_alone(tmp_path: Path) -> None:
    loops = Loops(str(tmp_path / "project"), 6)
    assert loops.wants(str(tmp_path / "project" / "a" / "b.py"))
    assert not loops.wants(str(tmp_path / "projects.py"))


class Lazy:
    """Has a length and makes each item when it is asked for."""

    def __init__(self) -> None:
        self.made: list[int] = []

    def __len__(self) -> int:
        return 40

    def __getitem__(self, index: int) -> int:
        if index >= 40:
            raise IndexError
        self.made.append(index)
        return index


def test_items_that_are_left_out_are_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    lazy, loops = Lazy(), Loops("/project", 4)
    worked: list[float] = []
    monkeypatch.setattr(type(RECORDER), "losses", worked)
    for _ in loops.rounds(lazy, "a.py", 1):
        worked.append(1.0)
    assert lazy.made == [0, 1, 38, 39]


@pytest.mark.parametrize(
    ("iterable", "expected"),
    [
        (range(7), 7),
        (enumerate([1, 2, 3]), 3),
        (zip([1, 2], range(5), strict=False), 2),
        (map(str, {1, 2}), 2),
        (iter("four"), 4),
        (enumerate(x for x in "ab"), None),
        ((x for x in "ab"), None),
    ],
)
def test_the_length_of_a_loop_is_known_beforehand(iterable: Any, expected: int | None) -> None:
    assert length(iterable) == expected
