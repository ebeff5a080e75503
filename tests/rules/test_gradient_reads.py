"""A loop over parameters that reads a number of each gradient waits for each of them."""

from __future__ import annotations

import pytest

from mpslint.linter import lint
from mpslint.settings import Settings
from mpslint.source import SourceFile

NORMS = """\
import torch


def grad_norm(model{given}):
    total = 0.0
    for p in {walked}:
        if p.grad is None:
            continue
        norm = {norm}
        total += {number}
    return total ** 0.5


def train(model, loader, watch):
    for batch in loader:
        watch(batch, grad_norm(model))
"""


@pytest.mark.parametrize(
    ("walked", "norm", "number", "rows"),
    [
        ("model.parameters()", "p.grad.data.norm(2)", "norm.item() ** 2", [10]),
        ("model.parameters()", "p.grad.detach().norm(2)", "float(norm) ** 2", [10]),
        ("list(model.parameters())", "p.grad.norm(2).item()", "norm ** 2", [9]),
        ("model.parameters()", "p.grad.data.norm(2)", "norm ** 2", []),
        ("model.parameters()", "p.data.norm(2)", "norm.item() ** 2", []),
        ("model.parameters()", "p.grad.cpu().norm(2)", "norm.item() ** 2", []),
        ("model.cpu().parameters()", "p.grad.norm(2)", "norm.item() ** 2", []),
        ("model.parameters()", "p.grad.norm(2)", "1 if norm.item() > 3 else 0", []),
    ],
)
def test_a_number_of_each_gradient_is_read_one_after_another(
    walked: str, norm: str, number: str, rows: list[int]
) -> None:
    program = NORMS.format(given="", walked=walked, norm=norm, number=number)
    found = lint(SourceFile("norms.py", program.encode()), Settings(select=("MPS303",)))
    assert [item.row for item in found] == rows


CLIPPED = """\
from torch.optim import {base}


def clipped(rate, grad, limit):
    if limit > 0:
        norm = grad.norm(2).item()
        rate *= limit / (norm + 1e-10)
    return rate


class Clipping({base}):
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                rate = clipped(rate=group["lr"], grad=p.grad.data, limit=group["limit"])
                p.data.add_(p.grad.data, alpha=-rate)
"""


@pytest.mark.parametrize(("base", "rows"), [("Adagrad", [6]), ("lr_scheduler.StepLR", [])])
def test_a_step_of_an_optimizer_is_one_in_a_file_without_devices(
    base: str, rows: list[int]
) -> None:
    text = CLIPPED.replace("import {base}", "import " + base.partition(".")[0])
    source = SourceFile("clip.py", text.format(base=base).encode())
    assert [item.row for item in lint(source, Settings(select=("MPS303",)))] == rows
