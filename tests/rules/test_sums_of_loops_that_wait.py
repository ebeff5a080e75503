"""A loop that copies something to the host at each turn gains nothing by a sum on the device."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Cli

PROGRAM = """\
import torch


def train(net, loader, optimizer, device):
    total = 0.0
    seen = []
    for number, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        out = net(x.to(device))
        loss = torch.nn.functional.mse_loss(out, y.to(device))
        loss.backward()
        optimizer.step()
        total += loss.item()
        {kept}
    return total, seen


device = torch.device("mps")
net = torch.nn.Linear(2, 2).to(device)
train(net, [(torch.ones(1, 2), torch.ones(1, 2))] * 9, torch.optim.SGD(net.parameters()), device)
"""


def sum_of(cli: Cli, project: Path, kept: str) -> tuple[bool, str | None]:
    """Whether the sum has a fix, and why it has none."""
    (project / "main.py").write_text(PROGRAM.format(kept=kept))
    told = json.loads(cli("check", "--output-format", "json").out)
    (found,) = [one for one in told if one["location"]["row"] == 13]
    return found["fix"] is not None, found["no_fix"]


def test_a_copy_at_each_turn_waits_all_the_same(cli: Cli, project: Path) -> None:
    has_fix, reason = sum_of(cli, project, "seen.append(out.detach().cpu())")
    assert not has_fix
    assert reason == "line 14: the loop waits for the device all the same"


@pytest.mark.parametrize(
    "kept", ["seen.append(out.detach())", "if number % 9 == 0:\n            seen.append(out.cpu())"]
)
def test_a_sum_is_kept_where_nothing_else_waits(cli: Cli, project: Path, kept: str) -> None:
    assert sum_of(cli, project, kept)[0]
