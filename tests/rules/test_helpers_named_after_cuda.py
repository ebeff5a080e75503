"""Functions that are named after CUDA, and what their text says of other machines."""

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

PROGRAM = """\
import torch

use_gpu = torch.cuda.is_available()


def {name}(x):
    {body}


print({name}(torch.zeros(2)))
"""
NAMES = ["maybe_cuda", "try_cuda", "to_cuda", "move_to_cuda", "cuda"]


def told(name: str, body: str) -> bool:
    text = PROGRAM.format(name=name, body=body)
    found = lint(SourceFile("program.py", text.encode()), Settings())
    return any(one.code in ("MPS102", "MPS103") for one in found)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "body",
    [
        "return x.cuda() if use_gpu else x",
        "return x.cuda() if torch.cuda.is_available() else x",
        "if torch.cuda.is_available():\n        return x.cuda()\n    return x",
        "if use_gpu:\n        x = x.cuda()\n    return x",
        "if not use_gpu:\n        return x\n    return x.cuda(non_blocking=True)",
    ],
)
def test_one_that_gives_back_what_it_is_given_without_cuda_leaves_mps_out(
    name: str, body: str
) -> None:
    assert told(name, body)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "body",
    [
        "return x.cuda()",
        "if not use_gpu:\n        raise RuntimeError('no GPU')\n    return x.cuda()",
        "return x.cuda() if x.dim() else x",
        "if x.dim():\n        return x\n    return x.cuda()",
    ],
)
def test_one_that_has_nothing_for_others_is_for_cuda(name: str, body: str) -> None:
    assert not told(name, body)


def test_one_that_only_waits_or_seeds_for_cuda_is_for_cuda() -> None:
    wait = "if use_gpu:\n        torch.cuda.synchronize()\n    return x"
    assert not told("cuda_time", wait)
