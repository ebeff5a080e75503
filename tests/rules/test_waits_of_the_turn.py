"""Reads that cost nothing: beside a test that the turn makes anyway, and in a loop of one turn."""

from __future__ import annotations

import textwrap

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

TRAIN = """
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torch.nn.Linear(4, 2).to(device)
optimizer = torch.optim.Adam(model.parameters())
best = 1e9
for epoch in bar:
    loss = model(x.to(device)).sum()
    bar.set_description(f"{{loss.item()}}")
{more}
    loss.backward()
    optimizer.step()
"""
BUFFER = """
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
policy = torch.nn.Linear(4, 2).to(device)


def train(buffer, values):
    for data in buffer.get({size}):
        with torch.no_grad():
            loss = policy(data.to(device)).sum()
        values.append(loss.item())
"""


def told(text: str) -> list[str]:
    source = SourceFile("program.py", textwrap.dedent(text).encode())
    return [found.code for found in lint(source, Settings(select=("MPS303",)))]


@pytest.mark.parametrize(
    ("more", "waits"),
    [
        ("if loss < best:\n    best = loss", False),
        ("if loss.detach() > best:\n    break", False),
        ("if other < best:\n    best = other", True),
        ("if epoch % 50 == 0:\n    if loss < best:\n        best = loss", True),
        ("y = model(x)\nif loss < best:\n    best = loss", True),
        ("if best < 3:\n    best = 4", True),
        ("", True),
    ],
)
def test_a_read_beside_a_test_of_the_same_tensor_adds_no_wait(more: str, waits: bool) -> None:
    text = TRAIN.format(more=textwrap.indent(more, "    "))
    assert told(text) == ["MPS303"] * waits


@pytest.mark.parametrize(
    ("size", "waits"), [("batch_size=None", False), ("batch_size=64", True), ("64", True)]
)
def test_all_that_a_buffer_holds_is_one_turn(size: str, waits: bool) -> None:
    assert told(BUFFER.format(size=size)) == ["MPS303"] * waits


PREDICT = """
import torch
from accelerate import Accelerator

accelerator = Accelerator()


def predict(model, loader, tokenizer):
    model = accelerator.prepare(model)
    kept, texts = [], []
    with torch.no_grad():
        for step, batch in enumerate(loader):
            scores, ids = model(batch.to(accelerator.device)), batch["ids"]
            scores, ids = accelerator.gather_for_metrics((scores, ids))
            kept.extend(scores.cpu().numpy())
            {more}
    return kept, texts
"""


@pytest.mark.parametrize(
    ("more", "waits"),
    [
        ("texts.extend(tokenizer.batch_decode(ids))", False),
        ("texts.extend(tokenizer.batch_decode(batch['names']))", True),
        ("if step % 50 == 0: texts = tokenizer.batch_decode(ids)", True),
        ("pass", True),
    ],
)
def test_a_turn_that_makes_texts_of_a_tensor_waits_anyway(more: str, waits: bool) -> None:
    source = SourceFile("program.py", PREDICT.format(more=more).encode())
    found = [finding.code for finding in lint(source, Settings(select=("MPS304",)))]
    assert found == ["MPS304"] * waits
