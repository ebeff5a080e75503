"""Counts of CUDA's devices by which something is divided, and which are no 0 there."""

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

DIVIDED = "ZeroDivisionError"


def told(body: str) -> bool:
    text = f"import torch\n\n{body}\n"
    found = lint(SourceFile("program.py", text.encode()), Settings())
    return any(one.code == "MPS206" and DIVIDED in one.message for one in found)


COUNT = "n = torch.cuda.device_count()\n"


@pytest.mark.parametrize(
    "body",
    [
        "n = torch.cuda.device_count() or 1\nprint(256 // n)",
        COUNT + "print(256 // n if n else 256)",
        COUNT + "print(n and 256 // n)",
        COUNT + "if n:\n    print(256 // n)",
        COUNT + "try:\n    per = 256 // n\nexcept ZeroDivisionError:\n    per = 256",
    ],
)
def test_a_count_that_is_replaced_asked_or_tried_divides_nothing(body: str) -> None:
    assert not told(body)


@pytest.mark.parametrize(
    "body",
    [
        "import sys\n\nn = len(sys.argv) - 1 or torch.cuda.device_count()\nprint(256 // n)",
        COUNT + "m = 3\nprint(256 // n if m else 256)",
        COUNT + "print(256 // n if not n else 256)",
        COUNT + "print(n or 256 // n)",
        COUNT + "try:\n    per = 256 // n\nexcept ValueError:\n    per = 256",
    ],
)
def test_a_count_that_may_be_0_where_it_divides_is_told(body: str) -> None:
    assert told(body)


def test_a_loop_for_each_process_of_a_gpu_has_no_turn_that_divides() -> None:
    body = COUNT + "total = n * 4\nfor i in range(total):\n    print(i % n)"
    assert not told(body)
    assert told(body.replace("range(total)", "range(8)"))
