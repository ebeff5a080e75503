"""Nobody waits for a test: what it reads from the device is no finding. A program is one, whatever
its functions are called."""

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

TRAINING = """\
import unittest

import torch
from torch import nn

from data import loader


class {name}:
    def {method}(self):
        device = torch.device("mps")
        net = nn.Linear(2, 2).to(device)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for x in loader:
            loss = net(x.to(device)).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(loss.item())
{more}
"""


def waits(name: str, method: str = "loss", path: str = "checks.py", more: str = "") -> bool:
    text = TRAINING.format(name=name, method=method, more=more)
    return "MPS303" in {one.code for one in lint(SourceFile(path, text.encode()), Settings())}


@pytest.mark.parametrize("method", ["testLoss", "loss", "setUp"])
def test_a_wait_of_a_test_case_is_not_told(method: str) -> None:
    assert not waits("Checks(unittest.TestCase)", method)


@pytest.mark.parametrize("path", ["test_net.py", "net_test.py"])
def test_who_starts_a_file_may_start_its_tests(path: str) -> None:
    assert not waits("TestNet", path=path, more="if __name__ == '__main__':\n    unittest.main()")


@pytest.mark.parametrize("path", ["test_net.py", "net_test.py"])
def test_nor_is_one_in_a_class_that_pytest_collects(path: str) -> None:
    assert not waits("TestNet", path=path)


@pytest.mark.parametrize(
    ("name", "path", "more"),
    [
        ("Trainer", "checks.py", ""),
        ("Trainer", "test_net.py", ""),
        ("Tester", "checks.py", ""),
        ("TestNet", "test_net.py", "for _ in loader:\n    TestNet().loss()"),
        ("TestNet", "test_net.py", "if __name__ == '__main__':\n    run(globals())"),
        ("TestNet", "test_net.py", "options = parser.parse_args()"),
    ],
)
def test_a_wait_of_a_program_is(name: str, path: str, more: str) -> None:
    assert waits(name, path=path, more=more)
