"""What a file gives its own functions says nothing of what other files of the project give them: a
trial below the test of `__name__` takes one way, the program that imports the function another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

_HELPERS = """
import torch


def zeros(n):
    if n != 1:
        return torch.zeros(n)
    made = torch.zeros(1)
    return made.cuda()


def wide(x, deep=0):
    if not deep:
        return x
    made = torch.zeros(1)
    return made.cuda()


def placed(x, device):
    if device == "cpu":
        return x
    made = torch.zeros(1)
    return made.cuda()


class Net:
    def __init__(self, n):
        self.n = n

    def run(self, n):
        if n != 1:
            return None
        made = torch.zeros(1)
        return made.cuda()


if __name__ == "__main__":
    zeros(5)
    wide(5, deep=0)
    placed(5, "cpu")
    net = Net(3)
    net.run(4)
"""
_ZEROS, _WIDE, _PLACED, _RUN = 9, 16, 23, 34


def _rows(cli: Cli, *paths: str) -> list[int]:
    """The rows of the helpers that are told of."""
    found = json.loads(cli("check", "--output-format", "json", *(paths or (".",))).out)
    return [
        item["location"]["row"] for item in found if Path(item["filename"]).name == "helpers.py"
    ]


def _project(project: Path, **files: str) -> None:
    (project / ".git").mkdir(exist_ok=True)
    for name, text in {"helpers": _HELPERS, **files}.items():
        path = project / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


def test_what_only_its_own_file_calls_is_given_what_that_gives(cli: Cli, project: Path) -> None:
    _project(project, main="import torch\n")
    assert _rows(cli) == []


@pytest.mark.parametrize(
    "main",
    [
        "from helpers import zeros\nzeros(1)\n",
        "from helpers import zeros as made\nmade(n=1)\n",
        "import helpers\nhelpers.zeros(1)\n",
        "import helpers as h\nh.zeros(int(input()))\n",
        "from helpers import *\nzeros(*map(int, input()))\n",
        "from helpers import zeros\nlist(map(zeros, (1, 2)))\n",
        "def main():\n    from helpers import zeros\n    return zeros(1)\n\nmain()\n",
    ],
)
def test_what_another_file_gives_counts_as_well(cli: Cli, project: Path, main: str) -> None:
    _project(project, main=main)
    assert _rows(cli) == [_ZEROS]


def test_it_counts_behind_a_package_that_hands_the_function_on(cli: Cli, project: Path) -> None:
    (project / "parts").mkdir()
    (project / "parts" / "helpers.py").write_text(_HELPERS)
    (project / "parts" / "__init__.py").write_text("from .helpers import zeros\n")
    _project(project, main="import parts\nparts.zeros(1)\n")
    (project / "helpers.py").unlink()
    assert _rows(cli) == [_ZEROS]


def test_a_check_of_the_file_alone_says_the_same(cli: Cli, project: Path) -> None:
    _project(project, main="from helpers import zeros\nzeros(1)\n")
    assert _rows(cli, "helpers.py") == [_ZEROS]


@pytest.mark.parametrize(
    "main",
    [
        "from helpers import zeros, wide, placed\nzeros(5)\nwide(1)\nplaced(1, 'cpu')\n",
        "from helpers import Net\n\ndef zeros(n):\n    return n\n\nzeros(1)\n",
        "from others import zeros\nzeros(1)\n",
    ],
)
def test_who_gives_the_same_or_calls_another_function_changes_nothing(
    cli: Cli, project: Path, main: str
) -> None:
    _project(project, main=main, others="def zeros(n):\n    return n\n")
    assert _rows(cli) == []


@pytest.mark.parametrize(
    ("call", "row"),
    [("wide(1, 2)", _WIDE), ("placed(1, 'cuda')", _PLACED), ("placed(1, input())", _PLACED)],
)
def test_what_it_gives_for_a_default_or_a_device_counts(
    cli: Cli, project: Path, call: str, row: int
) -> None:
    _project(project, main=f"from helpers import placed, wide\n{call}\n")
    assert _rows(cli) == [row]


@pytest.mark.parametrize("made", ["net = Net(2)", "def run(net):\n    net.run(1)\n\nnet = Net(2)"])
def test_what_it_gives_a_method_counts(cli: Cli, project: Path, made: str) -> None:
    _project(project, main=f"from helpers import Net\n{made}\nnet.run(1)\n")
    assert _rows(cli) == [_RUN]


def test_a_method_of_another_object_is_another(cli: Cli, project: Path) -> None:
    main = "from helpers import Net\nfrom others import Other\nother = Other()\nother.run(1)\n"
    others = "class Other:\n    def run(self, n):\n        return n\n"
    _project(project, main=main, others=others)
    assert _rows(cli) == []


_GUARDED = """
import torch


def wait():
    torch.cuda.synchronize()


class Timer:
    def stop(self):
        torch.cuda.synchronize()


def run():
    if torch.cuda.is_available():
        wait()
        timer = Timer()
        return timer
"""


@pytest.mark.parametrize(
    ("main", "rows"),
    [
        ("import torch\nfrom helpers import wait\nwait()\n", [6]),
        ("import torch\nfrom helpers import Timer\nTimer().stop()\n", [11]),
        ("import torch\nfrom helpers import run\nrun()\n", []),
        (
            "import torch\nfrom helpers import wait\nif torch.cuda.is_available():\n    wait()\n",
            [],
        ),
    ],
)
def test_where_its_own_file_keeps_macs_from_it_another_may_not(
    cli: Cli, project: Path, main: str, rows: list[int]
) -> None:
    _project(project, helpers=_GUARDED, main=main)
    assert _rows(cli) == rows
