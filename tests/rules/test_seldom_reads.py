"""What a few turns of a loop alone read is no wait at each step; what most turns read is."""

from __future__ import annotations

import textwrap

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

PROGRAM = """\
import logging, math, time
from datetime import datetime, timedelta
import torch

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
log = logging.getLogger()
steps = {0, 10, 100}
most = range(1, 1000)

opt = options()
if opt.quick:
    opt.every = 1
opt.each = 1

def train(model, loader, optimizer):
    last = time.time()
    seen = datetime.now()
    due = time.time() + 10
    for i, x in enumerate(loader):
        loss = model(x.to(device)).mean()
        loss.backward()
        optimizer.step()
"""


def is_told(body: str) -> bool:
    program = PROGRAM + textwrap.indent(body, " " * 8) + "\n"
    found = lint(SourceFile("program.py", program.encode()), Settings(select=("MPS303",)))
    return bool(list(found))


@pytest.mark.parametrize(
    "body",
    [
        "if time.time() - last > 10:\n    last = time.time()\n    print(loss.item())",
        "s = time.time() - last\nif s > 10:\n    print(loss.item())\n    last = time.time()",
        "match i % 10:\n    case 0:\n        print(loss.item())",
        "match i:\n    case n if n % 10 == 0:\n        print(loss.item())",
        "match i:\n    case n if n in (1, 10):\n        print(loss.item())",
        "match i:\n    case 0 if x.dim():\n        print(loss.item())",
        "if 10 < time.time() - last:\n    last = time.time()\n    print(loss.item())",
        "if last + 10 < time.time():\n    last = time.time()\n    print(loss.item())",
        "if last < time.time() - 10:\n    last = time.time()\n    print(loss.item())",
        "if time.time() >= due:\n    due = time.time() + 10\n    print(loss.item())",
        "now = time.perf_counter()\nif now - last > 9:\n    last = now\n    print(loss.item())",
        "s = int(time.monotonic() - last)\nif s > 9:\n    last += 1\n    last = time.monotonic()\n"
        "    print(loss.item())",
        "if (datetime.now() - seen).total_seconds() > 9:\n    seen = datetime.now()\n"
        "    print(loss.item())",
        "if datetime.now() - seen > timedelta(seconds=9):\n    seen = datetime.now()\n"
        "    print(loss.item())",
        "if i in range(0, 1000, 100):\n    print(loss.item())",
        "if opt.log and i == 0:\n    print(loss.item())",
        "if not i:\n    print(loss.item())",
        "if i:\n    pass\nelse:\n    print(loss.item())",
        "if i != 0 or opt.quiet:\n    pass\nelse:\n    print(loss.item())",
        "if i in range(5):\n    print(loss.item())",
        "if i in model.shown:\n    print(loss.item())",
        "if math.log2(i + 1).is_integer():\n    print(loss.item())",
        "if i in steps:\n    print(loss.item())",
        "if i not in steps:\n    continue\nprint(loss.item())",
        "if i + 1 in (1, 10):\n    print(loss.item())",
        "if log.isEnabledFor(logging.DEBUG):\n    log.debug('%.3f', loss.item())",
        "if opt.debug > 0:\n    print(loss.item())",
        "shown = i % opt.every == start\nif shown:\n    print(loss.item())",
    ],
)
def test_what_a_few_turns_alone_read_is_told_of_no_step(body: str) -> None:
    assert not is_told(body)


@pytest.mark.parametrize(
    "body",
    [
        "if time.time() - last > 10:\n    last = time.time()\nprint(loss.item())",
        "if time.time() - last > 10:\n    last = time.time()\nelse:\n    print(loss.item())",
        "if time.time() > last:\n    print(loss.item())",
        "match i % 10:\n    case 0:\n        pass\n    case _:\n        print(loss.item())",
        "match i:\n    case n if n > 0:\n        print(loss.item())",
        "match i:\n    case n if n not in steps:\n        print(loss.item())",
        "if time.time() - last < 10:\n    last = time.time()\n    print(loss.item())",
        "if 10 > time.time() - last:\n    last = time.time()\n    print(loss.item())",
        "if time.time() <= due:\n    due = time.time() + 10\n    print(loss.item())",
        "if time.time() - last > 10:\n    last = 0\n    print(loss.item())",
        "if datetime.now() - seen < timedelta(seconds=9):\n    seen = datetime.now()\n"
        "    print(loss.item())",
        "if model.time() - last > 10:\n    last = model.time()\n    print(loss.item())",
        "if i in range(1, 1000):\n    print(loss.item())",
        "if i in most:\n    print(loss.item())",
        "if i in set(most):\n    print(loss.item())",
        "if i in range(9, len(loader)):\n    print(loss.item())",
        "match x.dim():\n    case 2:\n        print(loss.item())",
        "if x.dim() in steps:\n    print(loss.item())",
        "if i not in steps:\n    print(loss.item())",
        "if i in steps:\n    continue\nprint(loss.item())",
        "if log.isEnabledFor(logging.INFO):\n    log.info('%.3f', loss.item())",
        "if log.isEnabledFor(logging.DEBUG):\n    pass\nelse:\n    print(loss.item())",
        "if i % opt.each == 0:\n    print(loss.item())",
        "if i == 0 or opt.log:\n    print(loss.item())",
        "if i:\n    print(loss.item())",
        "if not (i == 0 and opt.log):\n    print(loss.item())",
    ],
)
def test_what_most_turns_read_is_told(body: str) -> None:
    assert is_told(body)


TURNS = """\
import torch
from torch import nn

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
net = nn.Linear(3, 3).to(device)

def show(x):
    y = net(x.to(device)).argmax(1)
    for i in range({}):
        draw(y[i].detach().cpu().numpy())
"""


@pytest.mark.parametrize(("turns", "told"), [("1", []), ("2", [10]), ("len(x)", [10])])
def test_a_loop_that_turns_once_repeats_no_copy(turns: str, told: list[int]) -> None:
    program = TURNS.format(turns)
    found = lint(SourceFile("program.py", program.encode()), Settings(select=("MPS304",)))
    assert [finding.row for finding in found] == told


LAYERS = """\
import torch
from torch import nn

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(2, 2) for _ in range(9))

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = layer(x)
            if i in (1, 3):
                n = int(torch.max(x).item())
                x = x[:n]
        return x

net = Net().to(device)
net(torch.rand(3, 2, device=device))
"""


def test_what_some_layers_of_each_step_read_is_told() -> None:
    found = lint(SourceFile("program.py", LAYERS.encode()), Settings(select=("MPS303",)))
    assert [finding.row for finding in found] == [14]


@pytest.mark.parametrize(
    "test",
    [
        "torch.isnan(loss)",
        "loss.isnan().any() | loss.isinf().any()",
        "loss.isnan().any() or torch.any(torch.isinf(loss))",
        "not torch.isfinite(loss).all()",
        "not torch.isfinite(loss) and x.sum() > 1",
    ],
)
def test_what_is_read_of_broken_numbers_is_read_seldom(test: str) -> None:
    assert not is_told(f"if {test}:\n    print(loss.item())")


@pytest.mark.parametrize(
    "test",
    [
        "torch.isfinite(loss)",
        "not loss.isnan().any()",
        "loss.isnan().any() or x.sum() > 1",
        "loss.any()",
    ],
)
def test_what_is_read_of_sound_numbers_is_read_at_each_turn(test: str) -> None:
    assert is_told(f"if {test}:\n    print(loss.item())")


def test_the_other_arm_of_a_test_for_sound_numbers_is_seldom() -> None:
    assert not is_told("if loss.isfinite().all():\n    x = 1\nelse:\n    print(loss.item())")
    assert is_told("if loss.isnan().any():\n    x = 1\nelse:\n    print(loss.item())")


READ = "print(loss.item())"


@pytest.mark.parametrize(
    "body",
    [
        f"if not i % 10 == 0:\n    {READ}",
        f"if i % 10 != 0:\n    {READ}",
        f"if i % 10:\n    {READ}",
        f"if i % 10 == 0:\n    print(i)\nelse:\n    {READ}",
        f"if (i + 1) % 10 == 0:\n    continue\n{READ}",
        f"if not i % 10:\n    continue\n{READ}",
    ],
)
def test_what_all_remainders_but_one_come_to_is_read_at_most_turns(body: str) -> None:
    assert is_told(body)


@pytest.mark.parametrize(
    "body",
    [
        f"if i % 10 == 0:\n    {READ}",
        f"if not i % 10:\n    {READ}",
        f"if not i % 10 != 0:\n    {READ}",
        f"if i % 10 != 0:\n    continue\n{READ}",
        f"if i % 10:\n    continue\n{READ}",
        f"if i % 10:\n    print(i)\nelse:\n    {READ}",
        f"shown = i % 10\nif shown == 0:\n    {READ}",
        # Of two remainders each is that of many turns, and of others it is not known.
        f"if i % 2 != 0:\n    {READ}",
        f"if i % opt.unknown != 0:\n    {READ}",
    ],
)
def test_what_one_remainder_comes_to_or_may_come_to_alone_is_not_told(body: str) -> None:
    assert not is_told(body)
