"""A move of what is there already goes; one of what may be elsewhere stays a move."""

from __future__ import annotations

import pytest

from mpslint.fixing.fixer import fix_source
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

HEAD = "import torch\nfrom torch.autograd import Variable\n\n\n"


def fixed(body: str, rest: str = "") -> str:
    rows = "".join(f"    {row}\n" for row in body.split("; "))
    source = SourceFile("net.py", f"{HEAD}def sample(mu, logvar, x, y):\n{rows}{rest}".encode())
    text = fix_source(source, Settings()).text
    return "; ".join(row.strip() for row in text.split(":\n", 1)[1].splitlines() if row.strip())


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(
            "std = logvar.mul(0.5).exp_(); eps = Variable(std.data.new(std.size()).normal_());"
            " eps = eps.cuda(); return eps.mul(std)",
            "std = logvar.mul(0.5).exp_(); eps = Variable(std.data.new(std.size()).normal_());"
            " return eps.mul(std)",
            id="a statement",
        ),
        pytest.param(
            "noise = torch.zeros_like(x).cuda(); return x + noise",
            "noise = torch.zeros_like(x); return x + noise",
            id="a part of one",
        ),
        pytest.param(
            "noise = x.new_zeros(3).cuda(); return x.view(-1) + noise",
            "noise = x.new_zeros(3); return x.view(-1) + noise",
            id="made by a method",
        ),
    ],
)
def test_what_a_tensor_made_beside_it_is_not_moved_to_it(body: str, expected: str) -> None:
    assert fixed(body) == expected


def test_a_test_for_cuda_goes_with_the_move_that_it_decides() -> None:
    body = (
        "eps = x.data.new(x.size()).normal_(); if torch.cuda.is_available():;"
        "     eps = eps.cuda(); return eps.mul(x)"
    )
    assert fixed(body) == "eps = x.data.new(x.size()).normal_(); return eps.mul(x)"


@pytest.mark.parametrize(
    ("body", "moved"),
    [
        pytest.param(
            "noise = torch.zeros(x.size()).cuda(); return x.view(-1) + noise",
            ".to(x.device)",
            id="made on the CPU",
        ),
        pytest.param(
            "noise = torch.randn_like(y).cuda(); return x.view(-1) + noise",
            ".to(",
            id="made beside another tensor",
        ),
        pytest.param(
            "noise = torch.zeros_like(x, device='cpu').cuda(); return x.view(-1) + noise",
            ".to(x.device)",
            id="made elsewhere",
        ),
    ],
)
def test_what_may_lie_elsewhere_is_moved(body: str, moved: str) -> None:
    assert moved in fixed(body)


MODULE = """
import torch


class PropMaxPool(torch.nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.layers = torch.nn.ModuleList(layers)

    def {name}(self, x):
        map_h = {made}.cuda()
        for number, pool in enumerate(self.layers):
            x = pool(x)
            map_h[:, :, number] = x
        return map_h
"""
"""After 2D-TAN's `lib/models/prop_modules/dense.py`."""


def _module(name: str, made: str) -> str:
    source = SourceFile("dense.py", MODULE.format(name=name, made=made).encode())
    return fix_source(source, Settings()).text


def test_what_the_input_of_a_module_makes_beside_it_is_not_moved() -> None:
    text = _module("forward", "x.new_zeros(x.shape)")
    assert "map_h = x.new_zeros(x.shape)\n" in text
    assert "mps" not in text


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("forward", "torch.zeros(4, 4)"),
        ("forward", "x.cpu().new_zeros(x.shape)"),
        ("collated", "x.new_zeros(x.shape)"),
    ],
)
def test_what_is_made_elsewhere_is_still_moved(name: str, made: str) -> None:
    text = _module(name, made)
    assert f"{made}.to(" in text
