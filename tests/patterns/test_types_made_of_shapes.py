"""What a CUDA type is given: the shape of a tensor, a size that is filled at once, numbers."""

from __future__ import annotations

import pytest

from mpslint.fixing.fixer import fix_source
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

_MADE = """\
import numpy as np
import torch


def make(x, n):
    both = torch.cat([x, x])
    rows = np.zeros((2, 3))
    return MADE


make(torch.ones(2), 3)
"""


def _fixed(made: str) -> str:
    source = SourceFile("make.py", _MADE.replace("MADE", made).encode())
    return fix_source(source, Settings()).text


@pytest.mark.parametrize(
    ("made", "becomes"),
    [
        ("torch.cuda.FloatTensor(both.shape)", "torch.empty(both.shape, device=device)"),
        ("torch.cuda.FloatTensor(both.size())", "torch.empty(both.size(), device=device)"),
        (
            "torch.cuda.FloatTensor([1, 2]).zero_()",
            "torch.tensor([1, 2], dtype=torch.float32, device=device).zero_()",
        ),
    ],
)
def test_sizes_and_numbers_are_told_apart(made: str, becomes: str) -> None:
    assert f"return {becomes}\n" in _fixed(made)


@pytest.mark.parametrize(
    "made", ["torch.cuda.FloatTensor(n)", "torch.cuda.FloatTensor(rows.shape).zero_()"]
)
def test_what_may_be_either_stays(made: str) -> None:
    assert f"return {made}\n" in _fixed(made)


def test_a_comment_among_the_numbers_stays_with_them() -> None:
    text = _fixed("torch.cuda.FloatTensor([  # weights\n        1.0,\n        2.0,\n    ])")

    assert (
        "return torch.tensor([  # weights\n        1.0,\n        2.0,\n"
        "    ], dtype=torch.float32, device=device)\n" in text
    )


def test_a_comment_beside_the_numbers_is_not_lost() -> None:
    assert "# weights" in _fixed("torch.cuda.FloatTensor(  # weights\n        [1.0]\n    )")
