"""What a function moves further down has come to it on the host."""

from __future__ import annotations

import pytest

from mpslint.linter import lint
from mpslint.settings import Settings
from mpslint.source import SourceFile

PROGRAM = """\
import torch

device = torch.device("mps")


class Trainer:
    def step(self, batch):
        images, {names} = batch
        {before}
        {moves}
        {after}
        loss = self.net(images.to(device)).sum() + labels.sum()
        loss.backward()
        self.optimizer.step()

    def train(self, loader):
        for batch in loader:
            self.step(batch)
"""
MOVE = "labels = labels.to(device)"
CHECK = "assert torch.sum(labels - 3) == 0"


def told(moves: str = MOVE, before: str = "", after: str = "", names: str = "labels") -> list[str]:
    text = PROGRAM.format(moves=moves, before=before, after=after, names=names)
    settings = Settings(select=("MPS306",))
    found = lint(SourceFile("program.py", text.encode()), settings)
    return [text.split("\n")[finding.row - 1].strip() for finding in found]


@pytest.mark.parametrize(
    "moves",
    [
        MOVE,
        "labels = labels.cuda()",
        "labels = labels.long().to(device=device)",
        "labels = labels.to(device).float()",
        "labels, weights = labels.to(device), weights.to(device)",
        "labels = labels.to(self.device)",
    ],
)
def test_a_check_before_the_move_waits_for_nothing(moves: str) -> None:
    assert told(moves, before=CHECK, names="labels, weights") == []


def test_one_behind_it_waits() -> None:
    assert told(after=CHECK) == [CHECK]


@pytest.mark.parametrize(
    "moves",
    [
        "",
        "labels = labels.to(torch.float32)",
        "labels = labels.to('cpu')",
        "images = images.to(device)",
        "labels = labels.to(images.device)",
        "if self.late: labels = labels.to(device)",
        "labels = weights.to(device)",
    ],
)
def test_what_is_not_moved_on_each_way_may_be_there_already(moves: str) -> None:
    assert told(moves, before=CHECK, names="labels, weights") == [CHECK]


def test_what_the_function_has_computed_is_where_it_was_computed() -> None:
    before = f"labels = self.net(labels); {CHECK}"
    assert told(before=before) == [before]


def test_a_loop_hands_on_what_it_has_moved() -> None:
    text = (
        "import torch\n\n\ndef train(net, xs, state, optimizer, device):\n"
        "    net.to(device)\n"
        "    for x in xs:\n"
        "        assert torch.isfinite(state).all()\n"
        "        state = state.to(device)\n"
        "        loss = net(x.to(device), state)\n"
        "        loss.backward()\n"
        "        optimizer.step()\n"
    )
    found = lint(SourceFile("program.py", text.encode()), Settings(select=("MPS306",)))
    assert [finding.row for finding in found] == [7]
