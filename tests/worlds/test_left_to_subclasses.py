"""A method that only raises `NotImplementedError` is one of a class below, which comes back."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Cli

BASE = """\
import torch


class Base:
    def __init__(self):
        self.parts = self.load()
        self.start()

    def load(self):
        {body}

    def start(self):
        self.model = torch.zeros(1)

    def run(self):
        torch.cuda.synchronize()
"""


@pytest.mark.parametrize(
    "body",
    [
        "raise NotImplementedError",
        '"""Of a class below."""\n        raise NotImplementedError("load")',
    ],
)
def test_a_constructor_that_calls_such_a_method_makes_objects(
    cli: Cli, project: Path, body: str
) -> None:
    (project / "base.py").write_text(BASE.format(body=body))
    assert "MPS201" in cli("check").out


def test_a_constructor_that_raises_for_another_reason_makes_none(cli: Cli, project: Path) -> None:
    (project / "base.py").write_text(BASE.format(body='raise RuntimeError("gone")'))
    assert "MPS201" not in cli("check").out
