"""The `step` of an optimizer is one of training, also where its base is of another file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

_BASE = """import torch
from torch import optim


class Mixin:
    pass


class {name}(Mixin, {base}):
    pass
"""
_STEP = """import torch
from base import {name}


class Mine({name}):
    def step(self, closure):
        loss = closure()
        loss.backward()
        return loss.item()
"""


@pytest.mark.parametrize(
    ("base", "rows"), [("optim.Optimizer", [9]), ("optim.lr_scheduler.LRScheduler", [])]
)
def test_a_loss_that_its_step_reads_is_told(
    cli: Cli, project: Path, base: str, rows: list[int]
) -> None:
    (project / "base.py").write_text(_BASE.format(name="Walker", base=base))
    (project / "mine.py").write_text(_STEP.format(name="Walker"))

    ran = cli("check", "--no-cache", "--output-format", "json", "mine.py")

    assert [item["location"]["row"] for item in json.loads(ran.out)] == rows
