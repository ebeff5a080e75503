"""What a step of training in another file calls is as hot as what stands in the step."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

_METRICS = """import torch


def hits(scores, y):
    return (scores.argmax(1) == y).sum()


def accuracy(scores, y):
    return hits(scores, y).item() / y.size(0)


def checked(scores, y):
    assert not torch.isnan(scores).any()
    if torch.isinf(scores).any():
        scores = scores.nan_to_num()
    return scores.mean()


def error(scores, y):
    wrong = torch.abs(scores - y).mean()
    print(wrong)
    return wrong, torch.argmax(scores, 1).tolist(), scores.cpu().numpy()


def of_shapes(scores, y):
    return torch.tensor(scores.shape[0]).item()


def penalty(scores, y):
    return torch.zeros(scores.size(0)).to(scores.device)


def positive(scores, y):
    return [i for i in range(y.size(0)) if y[i] > 0]


def by_rows(scores, y, loud=False):
    found = []
    for i in range(len(y)):
        if loud:
            found = [scores[i].cpu().numpy()]
        found.append(scores[i, :2].cpu().numpy())
        found.append(y[i : i + 1].cpu().numpy())
    return found


def by_losses(scores, losses):
    return [losses[i].cpu() for i in range(len(losses))]
"""
_PROGRAM = """import torch
{imported}

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torch.nn.Linear(4, 2).to(device)
optimizer = torch.optim.SGD(model.parameters())


def train(loader, watch):
    for step, (x, y) in enumerate(loader):
        y = y.to(device)
        scores = model(x.to(device))
        loss = torch.nn.functional.cross_entropy(scores, y)
        loss.backward()
        optimizer.step()
        {calling}
"""


def rows(cli: Cli, project: Path, imported: str, calling: str, name: str = "train.py") -> list[int]:
    """The lines of the file of metrics that are told beside such a program."""
    (project / "pyproject.toml").write_text("")
    (project / "metrics.py").write_text(_METRICS)
    (project / "others.py").write_text("def accuracy(scores, y):\n    return 0\n")
    (project / name).write_text(_PROGRAM.format(imported=imported, calling=calling))
    ran = cli("check", "--no-cache", "--output-format", "json", "metrics.py")
    return [item["location"]["row"] for item in json.loads(ran.out)]


@pytest.mark.parametrize(
    ("imported", "calling", "told"),
    [
        ("from metrics import accuracy", "watch(accuracy(scores, y))", [9]),
        ("from metrics import accuracy as right", "right(y=y, scores=scores)", [9]),
        ("import metrics", "watch(metrics.accuracy(scores, y))", [9]),
        ("from metrics import checked", "watch(checked(scores, y))", [13]),
        ("from metrics import error", "watch(error(scores, y))", [21, 22]),
        ("from metrics import penalty", "watch(penalty(scores, y))", [30]),
        ("from metrics import positive", "watch(positive(scores, y))", [34]),
        ("from metrics import by_rows", "watch(by_rows(scores, y))", [43]),
    ],
    ids=[
        "by name",
        "by another name",
        "of the module",
        "checks",
        "shown and copied",
        "made",
        "element by element",
        "part by part",
    ],
)
def test_a_function_that_a_step_of_training_calls_waits_at_each(
    cli: Cli, project: Path, imported: str, calling: str, told: list[int]
) -> None:
    assert rows(cli, project, imported, calling) == told


@pytest.mark.parametrize(
    ("imported", "calling", "name"),
    [
        ("from others import accuracy", "watch(accuracy(scores, y))", "train.py"),
        ("from metrics import accuracy", "if step % 9 == 0: accuracy(scores, y)", "train.py"),
        ("from metrics import accuracy", "accuracy(scores.cpu(), y.cpu())", "train.py"),
        ("from metrics import of_shapes", "of_shapes(scores, y)", "train.py"),
        ("from metrics import by_losses", "by_losses(scores, [loss, loss])", "train.py"),
        ("import pytest\nfrom metrics import accuracy", "accuracy(scores, y)", "test_train.py"),
    ],
    ids=["another", "under a test", "of the host", "of shapes", "of a list", "in a test"],
)
def test_one_that_no_step_calls_with_what_lies_on_a_device_is_not_told(
    cli: Cli, project: Path, imported: str, calling: str, name: str
) -> None:
    assert rows(cli, project, imported, calling, name) == []
