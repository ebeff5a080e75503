"""Calls of a block that ask for the same wide dtype on the same device share one local dtype."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mpslint.cli.fix import run

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """\
import torch


def sums(x: torch.Tensor{more}):
    # what is added up
    a = torch.zeros(1, dtype=torch.double, device=x.device)
    {between}
    b = torch.zeros(2, dtype=torch.double, device=x.device)
    c = torch.zeros(3, dtype={last}, device=x.device)
    return a, b, c
"""
SHARED = """\
    dtype = torch.float32 if x.device.type == "mps" else torch.double
    # what is added up
    a = torch.zeros(1, dtype=dtype, device=x.device)
    print(a)
    b = torch.zeros(2, dtype=dtype, device=x.device)
    c = torch.zeros(3, dtype=dtype, device=x.device)
"""


def fixed(
    project: Path, *, more: str = "", between: str = "print(a)", last: str = "torch.double"
) -> str:
    path = project / "main.py"
    path.write_text(PROGRAM.format(more=more, between=between, last=last))
    run(["--no-verify", "--no-cache", "--quiet", str(project)])
    return path.read_text()


def test_three_calls_share_one(project: Path) -> None:
    assert SHARED in fixed(project)


@pytest.mark.parametrize(
    "other",
    [
        {"more": ", dtype=None"},
        {"between": "x = max(a, x)"},
        {"between": "if a:\n        pass", "last": "torch.float64"},
    ],
)
def test_what_is_not_the_same_or_has_no_free_name_is_written_out(
    project: Path, other: dict[str, str]
) -> None:
    text = fixed(project, **other)
    assert "    dtype = " not in text
    assert "torch.float32 if x.device.type" in text
