"""Tests that other files, or fixtures that they only name, keep from a machine without CUDA."""

# ruff: noqa: E501 - programs stand on one line, that tables of them can be read

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

_ASKS = "torch.cuda.is_available()"
_FIXTURE = """
import pytest
import torch


@pytest.fixture{options}
def gpu():
    if not {asks}:
        pytest.skip("needs a GPU")
"""
_TEST = """
import pytest
import torch

{mark}
def test_sum({asked_for}):
    assert torch.ones(2, device="cuda").sum() == 2
"""


def _told(cli: Cli, folder: Path, **files: str) -> list[str]:
    """What is told of these files, of which `__` divides the folders."""
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text.lstrip("\n"))
    ran = cli("check", "--output-format", "json", ".")
    return [finding["code"] for finding in json.loads(ran.out)]


def _fixture(options: str = "", asks: str = _ASKS) -> str:
    return _FIXTURE.format(options=options, asks=asks)


def _test(asked_for: str = "", mark: str = "") -> str:
    return _TEST.format(asked_for=asked_for, mark=mark)


@pytest.mark.parametrize("where", ["conftest", "tests__conftest"])
def test_a_fixture_of_a_folder_above_skips_who_asks_for_it(
    cli: Cli, project: Path, where: str
) -> None:
    files = {where: _fixture(), "tests__test_sum": _test("gpu")}
    assert _told(cli, project, **files) == []


@pytest.mark.parametrize(
    "fixture",
    [_fixture(asks="torch.backends.mps.is_available()"), _fixture().replace("gpu", "cpu")],
)
def test_one_that_asks_for_something_else_or_has_another_name_does_not(
    cli: Cli, project: Path, fixture: str
) -> None:
    assert _told(cli, project, conftest=fixture, test_sum=_test("gpu")) == ["MPS101"]


def test_a_fixture_of_a_folder_beside_is_not_there(cli: Cli, project: Path) -> None:
    files = {"one__conftest": _fixture("(autouse=True)"), "other__test_sum": _test()}
    assert _told(cli, project, **files) == ["MPS101"]


def test_a_nearer_fixture_of_the_same_name_takes_its_place(cli: Cli, project: Path) -> None:
    nearer = "import pytest\n\n@pytest.fixture\ndef gpu():\n    return 'skip nothing'\n"
    files = {"conftest": _fixture(), "tests__conftest": nearer, "tests__test_sum": _test("gpu")}
    assert _told(cli, project, **files) == ["MPS101"]


@pytest.mark.parametrize(
    "mark",
    [
        '@pytest.mark.usefixtures("gpu")',
        'pytestmark = pytest.mark.usefixtures("gpu")\n\n',
        'pytestmark = [pytest.mark.usefixtures("gpu")]\n\n',
    ],
)
@pytest.mark.parametrize("shared", [True, False])
def test_a_fixture_that_a_mark_names_skips_the_test(
    cli: Cli, project: Path, mark: str, shared: bool
) -> None:
    test = _test(mark=mark)
    files = (
        {"conftest": _fixture(), "test_sum": test} if shared else {"test_sum": _fixture() + test}
    )
    assert _told(cli, project, **files) == []


def test_a_mark_that_names_another_fixture_does_not(cli: Cli, project: Path) -> None:
    test = _test(mark='@pytest.mark.usefixtures("tmp_path")')
    assert _told(cli, project, conftest=_fixture(), test_sum=test) == ["MPS101"]


def test_a_shared_fixture_that_every_test_uses_skips_them_all(cli: Cli, project: Path) -> None:
    assert _told(cli, project, conftest=_fixture("(autouse=True)"), test_sum=_test()) == []


@pytest.mark.parametrize(
    "conftest",
    [
        'import pytest\nimport torch\n\nif not torch.cuda.is_available():\n    pytest.skip("x", allow_module_level=True)\n',
        'import torch\n\ncollect_ignore_glob = [] if torch.cuda.is_available() else ["test_*.py"]\n',
        'import torch\n\nif not torch.cuda.is_available():\n    collect_ignore = ["test_sum.py"]\n',
        "import torch\n\ndef pytest_ignore_collect(collection_path):\n    return not torch.cuda.is_available()\n",
    ],
    ids=["skip", "glob", "list", "hook"],
)  # fmt: skip
def test_what_is_not_collected_without_cuda_is_no_macs(
    cli: Cli, project: Path, conftest: str
) -> None:
    assert _told(cli, project, conftest=conftest, test_sum=_test()) == []


@pytest.mark.parametrize(
    "conftest",
    [
        'import torch\n\ncollect_ignore_glob = [] if torch.cuda.is_available() else ["other_*.py"]\n',
        'import torch\n\ncollect_ignore_glob = ["test_*.py"] if torch.cuda.is_available() else []\n',
    ],
    ids=["others", "on CUDA"],
)
def test_what_is_collected_there_is(cli: Cli, project: Path, conftest: str) -> None:
    assert _told(cli, project, conftest=conftest, test_sum=_test()) == ["MPS101"]


_CASE = """
import unittest
import torch


class OnCpu(unittest.TestCase):
    device = "cpu"

    def test_sum(self):
        self.assertEqual(torch.ones(1, device=self.device).item(), 1)


class OnGpu(OnCpu):
    device = "cuda"

    def {prepare}(self):
        if not torch.cuda.is_available():
            self.skipTest("needs a GPU")
"""


def test_an_attribute_of_a_class_of_tests_is_for_the_machines_that_run_them(
    cli: Cli, project: Path
) -> None:
    assert _told(cli, project, test_sum=_CASE.format(prepare="setUp")) == []


def test_what_skips_after_a_test_keeps_nobody_from_it(cli: Cli, project: Path) -> None:
    assert _told(cli, project, test_sum=_CASE.format(prepare="tearDown")) == ["MPS101"]
