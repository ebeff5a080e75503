"""Numbers, truths and texts of tensors, however a loop asks for them."""

from __future__ import annotations

import textwrap

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

HEADER = """\
import math
import torch
import wandb

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
"""
TRAINING = """
def train(model, loader, optimizer, writer, weights):
    for i, x in enumerate(loader):
        loss = model(x.to(device)).mean()
        loss.backward()
        optimizer.step()
"""
EVALUATION = """
@torch.no_grad()
def evaluate(model, loader):
    hits = 0
    for x, y in loader:
        guesses = model(x.to(device)).argmax(1)
        {}
    return hits
"""


def codes(program: str) -> list[str]:
    settings = Settings(select=("MPS303", "MPS305", "MPS306"))
    return [found.code for found in lint(SourceFile("program.py", program.encode()), settings)]


def of_step(body: str) -> list[str]:
    return codes(HEADER + TRAINING + textwrap.indent(body, " " * 8) + "\n")


@pytest.mark.parametrize("read", ["int({})", "float({})", "{}.item()"])
def test_an_evaluation_that_adds_numbers_up_waits_for_each(read: str) -> None:
    right = read.format("(guesses == y.to(device)).sum()")
    assert codes(HEADER + EVALUATION.format(f"hits += {right}")) == ["MPS303"]
    assert codes(HEADER + EVALUATION.format("hits += int(len(y))")) == []


@pytest.mark.parametrize(
    "body",
    [
        "if not math.isfinite(loss):\n    raise ValueError",
        "if any(torch.isnan(p.grad).any() for p in model.parameters()):\n    raise ValueError",
        "assert all([torch.isfinite(p.grad).all() for p in model.parameters()])",
    ],
)
def test_a_check_that_asks_each_tensor_or_asks_math_waits(body: str) -> None:
    assert of_step(body) == ["MPS306"]


@pytest.mark.parametrize(
    "body",
    [
        "if not math.isfinite(i):\n    raise ValueError",
        "if any(p.grad is None for p in model.parameters()):\n    raise ValueError",
        "if i % 100 == 0 and not math.isfinite(loss):\n    raise ValueError",
    ],
)
def test_a_check_of_what_is_no_tensor_waits_for_nothing(body: str) -> None:
    assert of_step(body) == []


def test_what_sum_adds_up_of_tensors_is_a_tensor() -> None:
    assert of_step("total = sum((loss * w).mean() for w in weights)\nprint(total.item())") == [
        "MPS303"
    ]
    assert of_step("total = sum(len(w) for w in weights)\nprint(float(total))") == []


@pytest.mark.parametrize(
    "shown",
    [
        'writer.add_scalars("loss", {{"train": {}}}, i)',
        'wandb.log({{"loss": {}}})',
        'bar.set_postfix({{"loss": {}}})',
    ],
)
def test_what_a_log_is_given_in_a_table_is_read_as_well(shown: str) -> None:
    assert of_step(shown.format("loss")) == ["MPS305"]
    assert of_step(shown.format("i")) == []
    assert of_step(f"if i % 50 == 0:\n    {shown.format('loss')}") == []


@pytest.mark.parametrize(
    "body",
    [
        "seen['loss'] = loss\ntotal += seen['loss'].item()",
        "seen['loss'] = loss * 2\nfor key in seen:\n    total += seen[key].item()",
        "seen['loss'] = loss\nfor key, value in seen.items():\n    total += value.item()",
    ],
)
def test_what_a_step_stores_in_a_table_of_its_own_is_read_there(body: str) -> None:
    assert of_step(f"seen = {{}}\ntotal = 0\n{body}") == ["MPS303"]


@pytest.mark.parametrize(
    "body",
    [
        "seen['loss'] = loss.detach().cpu()\ntotal += seen['loss'].item()",
        "seen['loss'] = i\ntotal += seen['loss'].item()",
        "seen['loss'] = loss\nseen['loss'] = seen['loss'].cpu()\ntotal += seen['loss'].item()",
        "seen['size'] = i\nfor key in seen:\n    total += seen[key].item()",
    ],
)
def test_what_a_step_stores_on_the_host_is_read_for_nothing(body: str) -> None:
    assert of_step(f"seen = {{}}\ntotal = 0\n{body}") == []
