"""A script without a test of `__name__` that draws from a loader which another file makes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

_DATA = """import torch
from torch.utils.data import DataLoader, TensorDataset


def get_loader(batch_size=4, num_workers={workers}):
    dataset = TensorDataset(torch.zeros(8, 3))
    return DataLoader(dataset, batch_size, num_workers=num_workers)


def get_loaders():
    return get_loader(), get_loader(8)
"""
_SCRIPT = "import torch\nfrom data import get_loader, get_loaders\n\n{}\n"
_DRAWS = "for (x,) in get_loader():\n    print(x)"
_IN_MAIN = f"def main():\n    {_DRAWS.replace(chr(10), chr(10) + '    ')}\n\n\n"


@pytest.mark.parametrize(
    ("text", "row"),
    [
        (_DRAWS, 4),
        ("loader = get_loader(8)\nfor (x,) in loader:\n    print(x)", 5),
        ("train, test = get_loaders()\nfor (x,) in train:\n    print(x)", 5),
        (f"{_IN_MAIN}main()", 5),
    ],
)
def test_it_is_told_where_it_draws(cli: Cli, project: Path, text: str, row: int) -> None:
    assert _found(cli, project, text) == [row]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f'{_IN_MAIN}if __name__ == "__main__":\n    main()', id="behind the test"),
        pytest.param(_DRAWS.replace("get_loader()", "get_loader(4, 0)"), id="no workers"),
        pytest.param("loader = get_loader()\nfor n in range(3):\n    print(n)", id="not drawn"),
    ],
)
def test_a_script_that_starts_no_workers_is_right(cli: Cli, project: Path, text: str) -> None:
    assert _found(cli, project, text) == []


def test_it_is_right_where_the_other_file_gives_no_workers(cli: Cli, project: Path) -> None:
    assert _found(cli, project, _DRAWS, workers=0) == []


def _found(cli: Cli, project: Path, text: str, workers: int = 2) -> list[int]:
    (project / "data.py").write_text(_DATA.format(workers=workers))
    (project / "script.py").write_text(_SCRIPT.format(text))
    ran = cli("check", "--select", "MPS705", "--output-format", "json", "script.py")
    return [finding["location"]["row"] for finding in json.loads(ran.out)]
