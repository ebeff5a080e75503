"""What no machine runs, since it is skipped everywhere, is told of on none."""

from __future__ import annotations

import pytest

from tests.worlds.conftest import found

_TESTS = """
import unittest
import pytest
import torch
{all}

@pytest.fixture
def net():
    return torch.nn.Linear(3, 3).to("cuda:0")


{one}
def test_sum(net):
    assert torch.zeros(3, device="cuda:1").sum() == 0


{each}
class TestNet:
    def test_net(self, net):
        net(torch.zeros(3, device="cuda:2"))


def helped():
    return torch.zeros(3, device="cuda:3")
"""


def _told(all: str = "", one: str = "", each: str = "") -> str:
    text = _TESTS.format(all=all, one=one, each=each)
    return "".join(line.partition("cuda:")[2][:1] for line in found(text, "MPS101"))


_MARK = 'pytest.mark.skip(reason="later")'


@pytest.mark.parametrize("mark", [_MARK, "pytest.mark.skip", 'unittest.skip("later")'])
def test_a_test_that_is_skipped_everywhere_is_not_told_of(mark: str) -> None:
    assert _told() == "0123"
    assert _told(one=f"@{mark}") == "023"
    assert _told(each=f"@{mark}") == "013"


@pytest.mark.parametrize("marks", [_MARK, f"[pytest.mark.slow, {_MARK}]"])
def test_nor_is_what_serves_such_tests_alone(marks: str) -> None:
    assert _told(all=f"pytestmark = {marks}") == "3"


@pytest.mark.parametrize(
    "marks",
    [
        "pytestmark = pytest.mark.slow",
        f"if 'slow' not in input():\n    pytestmark = {_MARK}",
        f"pytestmark = {_MARK}\npytestmark = []",
        f"marks = {_MARK}",
    ],
)
def test_other_marks_leave_them_to_some_machine(marks: str) -> None:
    assert _told(all=marks) == "0123"


def test_one_that_asks_first_may_run() -> None:
    assert _told(one='@pytest.mark.skipif(input() == "x", reason="slow")') == "0123"
