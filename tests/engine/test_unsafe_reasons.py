"""An unsafe fix says what is in doubt."""

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.model import Applicability
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

AT_HAND = """\
import torch
from elsewhere import Runner


class Own(Runner):
    def step(self, x):
        x = x.to(self.device)
        return x + torch.ones(2).cuda()
"""
BY_INDEX = """\
import torch


def moved(x, index):
    return x.cuda(index)


y = torch.ones(2).cuda()
"""


COMPARED = """\
import torch


class Sampler:
    def register_buffer(self, name, value):
        if value.device != torch.device("cuda"):
            value = value.to(torch.device("cuda"))
        setattr(self, name, value)
"""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param(COMPARED, "line 6 would still compare the device with CUDA", id="a test"),
        pytest.param(AT_HAND, "self.device may still be another device", id="a device at hand"),
        pytest.param(BY_INDEX, "index may be something else than the number", id="a number"),
    ],
)
def test_an_unsafe_move_says_what_is_in_doubt(text: str, reason: str) -> None:
    findings = lint(SourceFile("train.py", text.encode()), Settings())
    fixes = [one.fix for one in findings if one.fix is not None]
    unsafe = [fix for fix in fixes if fix.applicability is Applicability.UNSAFE]
    assert unsafe
    assert all(reason in fix.message for fix in unsafe)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("from torch.utils.serialization import load_lua", "torch.utils.serialization"),
        ("from torch.utils import serialization", "torch.utils.serialization"),
        ("import torch.legacy.nn as lua", "torch.legacy.nn"),
        ("from torchtext.legacy import data, datasets", "torchtext.legacy"),
    ],
)
def test_what_needs_modules_that_no_torch_with_mps_has_is_left_on_cuda(
    line: str, name: str
) -> None:
    text = f"import torch\n{line}\n\npred = model.cuda().forward(torch.ones(2))\n"
    (finding,) = lint(SourceFile("sketch.py", text.encode()), Settings())
    assert finding.applicability is Applicability.UNSAFE
    assert finding.reason == f"line 2: no torch that has MPS has {name}"
    assert Applicability.SAFE in levels(text.replace(line, "from torch.utils import data"))


def levels(text: str) -> list[Applicability | None]:
    return [one.applicability for one in lint(SourceFile("sketch.py", text.encode()), Settings())]
