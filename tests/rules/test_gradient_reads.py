"""A loop over parameters that reads a number of each gradient waits for each of them."""

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile
from tests.conftest import Cli
from tests.worlds.conftest import told_in_project

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


CHECKED = """\
import torch
from torch import nn


def check(model, loader):
    {before}
    for name, p in model.named_parameters():
        print(name, p.grad.norm().item())


def watch(loader):
    net = {made}
    for step, batch in enumerate(loader):
        loader.step(net, batch)
        {called}
"""
_MADE = "nn.Linear(3, 3).cuda()"
_CALLED = "check(net, loader)"


def rows(before: str = "pass", made: str = _MADE, called: str = _CALLED) -> list[int]:
    return rows_of(CHECKED.format(before=before, made=made, called=called))


def rows_of(program: str) -> list[int]:
    found = lint(SourceFile("check.py", program.encode()), Settings(select=("MPS303",)))
    return [item.row for item in found]


@pytest.mark.parametrize(
    "before",
    [
        'model.to("cpu")',
        "model.cpu()",
        'model.cuda()\n    model.to(device="cpu")',
        "model = nn.Linear(3, 3).cpu()",
        "model = model.cpu()",
    ],
)
def test_gradients_of_a_module_that_was_moved_to_the_cpu_wait_for_nothing(before: str) -> None:
    assert rows(before) == []


@pytest.mark.parametrize(
    "before",
    [
        'model.to("cuda")',
        "model.cpu()\n    model.cuda()",
        "if loader is None:\n        model.cpu()",
        "loader.cpu()",
        "model.cpu()\n    model = loader.model",
    ],
)
def test_gradients_of_a_module_that_may_lie_elsewhere_are_told(before: str) -> None:
    assert rows(before) == [8 + before.count("\n")]


def test_what_all_calls_give_from_the_cpu_lies_there() -> None:
    assert rows() == [8]
    assert rows(made="nn.Linear(3, 3).cpu()") == []
    assert rows(made="nn.Linear(3, 3).cpu()", called="check(loader.net, loader)") == [8]


@pytest.mark.parametrize(
    "called",
    [
        "if step % 100 == 0:\n            check(net, loader)",
        "if step % 100 == 0:\n            show(net, loader)\n\n"
        "def show(model, loader):\n    check(model, loader)",
        "net.zero_grad()\n    return check",
    ],
)
def test_a_function_that_few_steps_call_is_not_told(called: str) -> None:
    assert rows(called=called) == ([8] if "return" in called else [])


@pytest.mark.parametrize(
    "called",
    [
        "if step % 100 == 0:\n            check(net, loader)\n        check(net, loader)",
        "if step % 100 == 0:\n            check(net, loader)\n        loader.watch(check)",
        "show(net, loader)\n\ndef show(model, loader):\n    check(model, loader)",
    ],
)
def test_a_function_that_each_step_may_call_is_told(called: str) -> None:
    assert rows(called=called) == [8]


def test_a_loop_of_few_steps_is_not_told() -> None:
    walk = "for p in net.parameters():\n                float(p.grad.norm())"
    rare = CHECKED.format(
        before="pass", made=_MADE, called=f"if step % 9 == 0:\n            {walk}"
    )
    assert rows_of(rare) == [8]  # Who calls `check` is out of sight.
    assert rows_of(rare.replace("step % 9 == 0", "batch")) == [8, 17]


@pytest.mark.usefixtures("project")
def test_a_function_that_nobody_calls_is_not_told(cli: Cli) -> None:
    utils = CHECKED.partition("\n\n\ndef watch")[0].format(before="pass")
    used = "from utils import check\n\ndef train(net, loader):\n    check(net, loader)\n"
    nobody = {"utils.py": utils, "main.py": "import utils\n"}
    assert told_in_project(cli, nobody) == []
    assert told_in_project(cli, {**nobody, "train.py": used}) == [("utils.py", 8, "MPS303")]


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
