"""A fixture of pytest's is run for the tests of its file that ask for it, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli

_SUITE = """\
import pytest
import torch

device = torch.device("cuda:0")
needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")


@pytest.fixture
def test_data():
    return torch.zeros(3, device=device)


@pytest.fixture
def doubled(test_data):
    return test_data * 2


@needs_cuda
def test_sum({asked}):
    assert {asked}.sum() == 0
"""
_OTHER = """

{mark}
def test_shape({asked}):
    assert {asked}.shape == (3,)
"""


def _told(cli: Cli, project: Path, text: str) -> list[str]:
    (project / "test_data.py").write_text(text)
    out = cli("check", "--no-cache", "--output-format", "concise").out
    return [line.split()[1] for line in out.splitlines() if line.startswith("test_data.py")]


@pytest.mark.parametrize("asked", ["test_data", "doubled"])
def test_what_only_tests_for_cuda_ask_for_is_for_cuda(cli: Cli, project: Path, asked: str) -> None:
    assert _told(cli, project, _SUITE.format(asked=asked)) == []


@pytest.mark.parametrize("asked", ["test_data", "doubled"])
def test_one_test_that_any_machine_runs_makes_it_any_machine_s(
    cli: Cli, project: Path, asked: str
) -> None:
    other = _OTHER.format(asked=asked, mark="@pytest.mark.slow")
    assert _told(cli, project, _SUITE.format(asked="test_data") + other) == ["MPS101"]


def test_a_fixture_may_be_asked_for_by_a_mark(cli: Cli, project: Path) -> None:
    marked = '\n\n@pytest.mark.usefixtures("test_data")\ndef test_it():\n    pass\n'
    assert _told(cli, project, _SUITE.format(asked="test_data") + marked) == ["MPS101"]


def test_a_fixture_that_no_test_here_asks_for_may_be_another_file_s(
    cli: Cli, project: Path
) -> None:
    text = _SUITE.format(asked="test_data").split("@needs_cuda\ndef")[0]
    assert _told(cli, project, text) == ["MPS101"]
