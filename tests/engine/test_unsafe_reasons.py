"""An unsafe fix says what is in doubt."""

from __future__ import annotations

import pytest

from mpslint.linter import lint
from mpslint.model import Applicability
from mpslint.settings import Settings
from mpslint.source import SourceFile

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
        pytest.param(BY_INDEX, "go to a GPU by its index", id="a move by its index"),
    ],
)
def test_an_unsafe_move_says_what_is_in_doubt(text: str, reason: str) -> None:
    findings = lint(SourceFile("train.py", text.encode()), Settings())
    fixes = [one.fix for one in findings if one.fix is not None]
    unsafe = [fix for fix in fixes if fix.applicability is Applicability.UNSAFE]
    assert unsafe
    assert all(reason in fix.message for fix in unsafe)
