"""A batch that only `DataParallel` moves is moved by its loop where a fix moves the model."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest

from mpslint.cli.fix import run

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """\
import torch
from loading import loader


def train(net, batches):
    net.train()
    for batch in batches:
        # forward
        loss = net({given})
        loss.backward()


def main():
    net = torch.nn.DataParallel(torch.nn.Linear(2, 2)){moved}
    train(net, loader())


if __name__ == "__main__":
    main()
"""
MOVED = """\
    model_device = next(net.parameters()).device
    for batch in batches:
        batch = {
            name: part.to(model_device) if torch.is_tensor(part) else part
            for name, part in batch.items()
        }
        # forward
        loss = net(**batch)
"""


def fixed(project: Path, given: str, *, moved: str = ".cuda()", program: str = PROGRAM) -> str:
    path = project / "main.py"
    path.write_text(program.format(given=given, moved=moved))
    (project / "loading.py").write_text("def loader():\n    return []\n")
    run(["--no-verify", "--no-cache", "--quiet", "--unsafe-fixes", str(project)])
    ast.parse(path.read_text())
    return path.read_text()


def test_each_tensor_of_a_batch_that_is_given_by_its_names_is_moved(project: Path) -> None:
    assert MOVED in fixed(project, "**batch")


@pytest.mark.parametrize("given", ["batch", "*batch", "**batch, scale=2"])
def test_what_may_be_no_tensor_is_not_moved(project: Path, given: str) -> None:
    assert "is_tensor" not in fixed(project, given)


def test_a_batch_of_a_model_that_goes_nowhere_stays(project: Path) -> None:
    assert "is_tensor" not in fixed(project, "**batch", moved="")


def test_a_name_that_the_program_has_is_not_taken(project: Path) -> None:
    program = PROGRAM.replace("net.train()", "net.train()\n    model_device = 0")
    assert "is_tensor" not in fixed(project, "**batch", program=program)
