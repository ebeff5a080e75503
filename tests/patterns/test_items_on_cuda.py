"""A test that asks an item of something whether it is on CUDA."""

from __future__ import annotations

import pytest

from mpslint.fixing.fixer import fix_source
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

_GATE = """\
import torch


def step(self, x, xs, i):
    if {}.is_cuda:
        x = x.cuda()
    return x
"""


def _fixed(asked: str) -> str:
    return fix_source(SourceFile("step.py", _GATE.format(asked).encode()), Settings()).text


@pytest.mark.parametrize("asked", ["self.layers[0].weight", "xs[-1]", "xs[i]", 'xs["a"][0]'])
def test_what_it_moves_follows_that_item(asked: str) -> None:
    assert f"    x = x.to({asked}.device)\n" in _fixed(asked)


def test_an_item_that_a_call_finds_is_not_asked_again() -> None:
    assert "if xs[self.following()].is_cuda:" in _fixed("xs[self.following()]")
