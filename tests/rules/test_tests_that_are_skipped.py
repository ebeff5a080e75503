"""A device that a decorator is told for tests which are skipped without CUDA is told of no more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli

_HELPERS = """import unittest

import torch


def expand(device):
    return lambda cls: cls


class Base(unittest.TestCase):
    device = torch.device("cpu")

    @classmethod
    def setUpClass(cls):
        {body}
"""
_TESTS = """import torch
from helpers import Base, expand


class Middle(Base):
    pass


@expand({device})
class TestNeighbours(Middle):
    def test_them(self):
        x = torch.rand(3, device=self.device)
        assert x.sum() > 0
"""
_DEVICE = 'device=torch.device("cuda")'
_SKIP = 'raise unittest.SkipTest("CUDA is not there")'


def _is_told(cli: Cli, project: Path, body: str) -> bool:
    (project / "helpers.py").write_text(_HELPERS.format(body=body))
    (project / "test_neighbours.py").write_text(_TESTS.format(device=_DEVICE))
    return "MPS101" in cli("check", "--no-cache", "test_neighbours.py").out


@pytest.mark.parametrize(
    "test",
    [
        "not torch.cuda.is_available()",
        'cls.device.type == "cuda" and not torch.cuda.is_available()',
        'cls.device.type == "cpu" or not torch.cuda.is_available()',
    ],
)
def test_what_is_skipped_runs_on_no_mac(cli: Cli, project: Path, test: str) -> None:
    assert not _is_told(cli, project, f"if {test}:\n            {_SKIP}")


@pytest.mark.parametrize(
    "body",
    [
        "torch.manual_seed(0)",
        f"if torch.cuda.is_available():\n            {_SKIP}",
        'if not torch.cuda.is_available():\n            print("CUDA is not there")',
    ],
)
def test_what_is_not_fails_there(cli: Cli, project: Path, body: str) -> None:
    assert _is_told(cli, project, body)
