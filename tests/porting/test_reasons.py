"""A reason against a fix says what another place does, and not what that finding advises."""

from __future__ import annotations

import json
from pathlib import Path

from tests.conftest import Cli

_LOADING = """\
import torch
from torch import nn

net = nn.Linear(2, 2)
torch.save(net.state_dict(), "a.pt")
net.load_state_dict(torch.load("b.pt"))


def run(parser):
    if parser().number:
        net.cuda()
    net.cuda(parser().number)


run(max)
"""


def test_the_advice_of_another_finding_is_no_part_of_a_reason(cli: Cli, project: Path) -> None:
    (project / "train.py").write_text(_LOADING)
    found = json.loads(cli("check", "--output-format", "json").out)
    messages = [one["fix"]["message"] for one in found if one["fix"]]
    assert any(".cuda() raises AssertionError where there is no CUDA)" in one for one in messages)
    assert not any("works everywhere" in one for one in messages)
