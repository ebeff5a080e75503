"""What a function moves further down has come to it on the host."""

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

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


DRAWN = """\
import torch

device = torch.device("mps")


def drawn(loader):
    latent = Latent(next(loader)).sample()
    assert torch.isfinite(latent).all()
    {returned}


def train(net, optimizer, loader):
    for step in range(10):
        {call}
        loss = net(latent).mean()
        loss.backward()
        optimizer.step()
"""
MOVED = "batch = drawn(loader)\n        latent, noise = to_device(batch, device)"


def drawn(call: str = MOVED, returned: str = "return latent, torch.randn_like(latent)") -> bool:
    text = DRAWN.format(call=call, returned=returned)
    settings = Settings(select=("MPS306",))
    return bool(list(lint(SourceFile("program.py", text.encode()), settings)))


@pytest.mark.parametrize(
    "call",
    [
        MOVED,
        "latent, noise = to_device(drawn(loader), device)",
        "batch = drawn(loader)\n        latent, noise = to_device(batch, device=device)",
    ],
)
def test_what_all_who_call_move_at_once_came_to_them_on_the_host(call: str) -> None:
    assert not drawn(call)


@pytest.mark.parametrize(
    "call",
    [
        "latent, noise = drawn(loader)",
        f"{MOVED}\n        latent, noise = drawn(loader)",
        "batch = drawn(loader)\n        latent, noise = pair(batch, step)",
        "batch = drawn(loader)\n        latent, noise = step_of(net, batch, device)",
    ],
)
def test_what_somebody_takes_as_it_is_may_lie_on_the_device(call: str) -> None:
    assert drawn(call)


def test_what_a_function_keeps_is_not_what_its_callers_move() -> None:
    assert drawn(returned="return latent + 1, latent * 2")


def test_what_the_function_has_moved_itself_was_there_before() -> None:
    text = DRAWN.replace(".sample()", ".sample().to(device)")
    text = text.format(call=MOVED, returned="return latent, latent")
    found = lint(SourceFile("program.py", text.encode()), Settings(select=("MPS306",)))
    assert [finding.row for finding in found] == [8]
