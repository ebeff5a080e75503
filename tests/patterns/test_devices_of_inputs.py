"""What a forward pass makes belongs where its inputs are, also where the text does not say what the
two are computed to: a module and all that it computes with are on one device."""

from __future__ import annotations

import pytest

from mpslint.fixing.fixer import fix_source
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

MODULE = """\
import torch
import torch.nn.functional as F


class Kernel(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.net = torch.nn.Conv1d(1, size, 1)

    def forward(self, x, scale):
        kernel = self.kernel(x)
        return F.conv1d(x, kernel * scale)

    def kernel(self, x):
        MADE
        return self.net(self.positions)

    def plot(self, x):
        return None
"""


def fixed(made: str, text: str = MODULE) -> str:
    text = text.replace("MADE", made.replace("\n", "\n        "))
    return fix_source(SourceFile("kernel.py", text.encode()), Settings()).text


def test_what_a_method_of_a_forward_pass_makes_goes_to_its_input() -> None:
    text = fixed("self.positions = torch.linspace(-1.0, 1.0, x.shape[-1]).cuda().unsqueeze(0)")
    assert "torch.linspace(-1.0, 1.0, x.shape[-1]).to(x.device).unsqueeze(0)" in text
    assert "is_available" not in text


def test_what_is_made_like_an_input_is_there_already() -> None:
    text = fixed("self.positions = torch.zeros_like(x).cuda()")
    assert "self.positions = torch.zeros_like(x)\n" in text


@pytest.mark.parametrize(
    "made",
    [
        "self.positions = torch.linspace(-1.0, 1.0, x.shape[-1]).cuda()\nx = x.cuda()",
        "x = x.numpy()\nself.positions = torch.linspace(-1.0, 1.0, x.shape[-1]).cuda()",
    ],
)
def test_an_input_that_is_moved_tells_nothing(made: str) -> None:
    assert "x.device" not in fixed(made)


def test_a_method_that_no_forward_pass_runs_is_given_nothing_of_its_module() -> None:
    text = MODULE.replace("self.kernel(x)", "self.net(x)")
    made = "self.positions = torch.linspace(-1.0, 1.0, x.shape[-1]).cuda()"
    assert "x.device" not in fixed(made, text)


def test_a_number_that_a_forward_pass_is_given_has_no_device() -> None:
    text = MODULE.replace("self.kernel(x)", "self.kernel(scale)")
    assert ".device)" not in fixed("self.positions = torch.linspace(-1.0, 1.0, x).cuda()", text)
