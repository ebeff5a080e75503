"""A selection that an object's flag decides asks for that in one spelling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpslint.cli.fix import run

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """\
import torch


class Net:
    def __init__(self, use_cuda):
        self.use_cuda = use_cuda{and_there}

    def start(self):
        h = torch.zeros(1)
        if self.use_cuda:
            h = h.cuda()
        return h

    def on(self):
        return self.use_cuda


print(Net(True).start())
"""


def fixed(project: Path, and_there: str) -> str:
    path = project / "main.py"
    path.write_text(PROGRAM.format(and_there=and_there))
    run(["--no-verify", "--no-cache", "--quiet", "--unsafe-fixes", str(project)])
    return path.read_text()


def test_the_flag_is_asked_in_both_arms(project: Path) -> None:
    text = fixed(project, "")
    assert "if self.use_cuda and torch.cuda.is_available():" in text
    assert "elif self.use_cuda and torch.backends.mps.is_available():" in text


def test_a_flag_that_holds_for_cuda_alone_is_asked_of_the_user_for_mps(project: Path) -> None:
    text = fixed(project, " and torch.cuda.is_available()")
    assert "elif use_cuda and torch.backends.mps.is_available():" in text
