"""What runs in a forward pass of a module."""

from __future__ import annotations

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

PROGRAM = """\
import torch
from torch import nn

device = torch.device("mps")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))
        self.register_buffer("step", torch.zeros(()))
        self.net = nn.Linear(3, 3).to(device)

    def forward(self{given}):
        step = self.step.item()
        {rest}
"""


def told(rest: str, given: str = ", x") -> list[tuple[str, int]]:
    text = PROGRAM.replace("{rest}", rest).replace("{given}", given)
    source = SourceFile("net.py", text.encode())
    found = lint(source, Settings(select=("MPS303",)))
    return [(one.code, one.row) for one in found if "forward" in one.message]


def test_a_read_of_a_buffer_is_one_of_each_forward_pass() -> None:
    assert told("return self.net(x) * step") == [("MPS303", 15)]


TRAINED = """\
for x in self.loader:
            self.net(x).sum().backward()
            self.optimizer.step()"""


def test_the_loop_of_a_trainer_is_no_forward_pass_though_it_is_called_forward() -> None:
    assert told(TRAINED, "") == []


def test_a_loss_that_trains_a_part_of_itself_is_one() -> None:
    assert told(TRAINED) == [("MPS303", 15)]
