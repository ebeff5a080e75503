"""A layer that knows no device takes autocast for the type of device that its input is on."""

from __future__ import annotations

import pytest

from mpslint.fixing.fixer import fix_source
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

_LAYER = """\
import torch
from torch import Tensor, nn


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)

    def forward(self, {given}):
{first}        with torch.autocast("cuda", dtype=torch.bfloat16):
            return self.inner(x)
"""


def fixed(given: str, first: str = "") -> str:
    text = _LAYER.format(given=given, first=first)
    settings = Settings(min_torch=(2, 8))
    return fix_source(SourceFile("layer.py", text.encode()), settings).text


def test_the_input_says_on_which_device_a_layer_computes() -> None:
    text = fixed("x: Tensor")
    assert 'x.device.type, dtype=torch.bfloat16, enabled=x.device.type != "cpu"' in text
    assert "is_available" not in text


@pytest.mark.parametrize(
    ("given", "first"),
    [
        pytest.param("x", "", id="what it is given may be no tensor"),
        pytest.param("x: Tensor = None", "", id="it may be None"),
        pytest.param("lengths: Tensor, x: Tensor", "", id="of two one may be on the CPU"),
        pytest.param("x: Tensor", "        x = x.cuda()\n", id="it is moved on"),
    ],
)
def test_else_the_device_is_selected(given: str, first: str) -> None:
    text = fixed(given, first)
    assert "x.device.type" not in text
    assert "lengths.device" not in text
