"""Lines that need not run, since they only take the device that somebody names."""

from __future__ import annotations

import pytest

from mpslint.verify import named_devices
from mpslint.verify.changed_lines import AGREED, NAMED, judged
from mpslint.verify.report import covering

BRANCH = """\
if {test}:
    {first}
else:
    {second}
"""


def rows(test: str, first: str, second: str = "device = pick()") -> set[int]:
    return named_devices.rows(BRANCH.format(test=test, first=first, second=second).encode())


@pytest.mark.parametrize(
    ("test", "first"),
    [
        ('args.device != "auto"', "device = torch.device(args.device)"),
        ("args.device", "device = args.device"),
        ("name is not None", "device = device(name)"),
    ],
)
def test_a_device_that_is_taken_as_it_is_named(test: str, first: str) -> None:
    assert rows(test, first) == {2}


def test_it_may_be_taken_where_the_test_fails() -> None:
    assert rows('name == "auto"', "device = pick()", "device = torch.device(name)") == {4}


def test_a_function_may_give_it_out() -> None:
    text = b"def pick(name):\n    if name:\n        return torch.device(name)\n    return best()\n"
    assert named_devices.rows(text) == {3}


@pytest.mark.parametrize(
    ("test", "first"),
    [
        ("args.device", 'device = torch.device("mps")'),
        ("args.device", "device = torch.device(args.other)"),
        ("args.device", "device = torch.device(args.device + ':1')"),
        ("args.device", "model = build(args.device)"),
        ("args.device", "device = torch.device(args.device); seed(0)"),
    ],
)
def test_whatever_else_is_done_there_has_to_run(test: str, first: str) -> None:
    assert rows(test, first) == set()


def test_such_a_line_is_said_and_leaves_a_pass_a_pass() -> None:
    lines = judged({"/x/t.py": [2, 4]}, [], {"/x/t.py": {2}})[:1]
    assert [line.state for line in lines] == [NAMED]
    verdict, reason = covering(("pass", ""), lines, ())
    assert (verdict, reason) == ("pass", "no device was named, which t.py:2 would take")


def test_such_a_line_that_ran_is_one_like_others() -> None:
    from .conftest import launch

    ran = launch("mps", lines=[["/x/t.py", 2]])
    (line,) = judged({"/x/t.py": [2]}, [(ran, True)], {"/x/t.py": {2}})
    assert line.state == AGREED
