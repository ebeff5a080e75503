"""What is told the CPU by all who call it waits for no GPU, whoever calls it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli

_TRAIN = """
import torch


def train(model, loader, device, **more):
    model.to(device)
    total = 0.0
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        loss = (model(x.to(device)) - y.to(device){elsewhere}).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total
"""
_CALL = """
import sys

import torch
from steps import train

print(train(torch.nn.Linear(3, 3), [], {device}))
"""
_CPU = 'torch.device("cpu")'


def _is_told(cli: Cli, project: Path, *devices: str, elsewhere: str = "", more: str = "") -> bool:
    (project / "README.md").write_text("Scripts.\n")
    (project / "steps.py").write_text(_TRAIN.format(elsewhere=elsewhere) + more)
    for at, device in enumerate(devices):
        (project / f"run_{at}.py").write_text(_CALL.format(device=device))
    return "MPS303" in cli("check", "--select", "MPS303", "steps.py").out


def test_one_that_all_callers_tell_the_cpu_waits_for_no_gpu(cli: Cli, project: Path) -> None:
    assert not _is_told(cli, project, _CPU, _CPU)


@pytest.mark.parametrize(
    "devices",
    [
        (),
        ("sys.argv[1]",),
        (_CPU, '"cuda"'),
        (_CPU, '"cuda" if torch.cuda.is_available() else "cpu"'),
    ],
)
def test_one_that_somebody_may_tell_otherwise_is_told(
    cli: Cli, project: Path, devices: tuple[str, ...]
) -> None:
    assert _is_told(cli, project, *devices)


def test_one_that_puts_something_elsewhere_itself_is_told(cli: Cli, project: Path) -> None:
    assert _is_told(cli, project, _CPU, elsewhere=".cuda()")


def test_one_that_is_handed_on_may_be_called_by_anybody(cli: Cli, project: Path) -> None:
    assert _is_told(cli, project, _CPU, more="\n\nSTEPS = {'train': train}\n")


_KEPT = """
import torch


class Trainer:
    def __init__(self, model, device):
        self.model = model{placed}
        self.device = device

    def run(self, loader, optimizer):
        total, kept = 0.0, []
        for x, y in loader:
            out = self.model(x)
            loss = (out - y).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
            kept.append(out.detach().to(self.device))
        return total, kept
"""
_RUN = """
import torch
from trainer import Trainer

net = torch.nn.Linear(3, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
print(Trainer(net, torch.device("cpu")).run([], optimizer))
"""


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("", "", True),
        ("out.detach().to(", "torch.cat([out, out]).to(", True),
        ("self.model(x)\n", "self.model(x)\n            self.model.to(self.device)\n", False),
        ("self.model(x)", "self.model(x.to(self.device))", False),
        ("model{placed}", "model.to(device)", False),
        ("out.detach().to(", "(x / 255).to(", False),
        ("out.detach().to(", "torch.zeros(3).to(", False),
    ],
)
def test_where_results_go_says_nothing_of_where_they_are_computed(
    cli: Cli, project: Path, before: str, after: str, told: bool
) -> None:
    (project / "README.md").write_text("Scripts.\n")
    (project / "run.py").write_text(_RUN)
    assert before in _KEPT
    (project / "trainer.py").write_text(_KEPT.replace(before, after, 1).replace("{placed}", ""))
    ran = cli("check", "--select", "MPS303", "trainer.py")
    assert ("MPS303" in ran.out) is told
