"""Tensors that are on a device because of what is done with them."""

from __future__ import annotations

import ast
import textwrap

import pytest
from probing import probe

from mpslint.semantics.operands.live_operands import copied_beside, offloaded


def beside(body: str) -> str | None:
    program = "import torch\ndef f(model, x: torch.Tensor, device):\n"
    context, node = probe(program + textwrap.indent(body, "    "))
    call = copied_beside(context, node)
    return ast.unparse(call) if call is not None else None


@pytest.mark.parametrize(
    "body",
    [
        "y = x.abs()\nout = model(y).cpu()\nprobe(y < 3)",
        "y = x.abs()\nflags = y < 3\ny = y / 2\nout = model(y).squeeze().cpu()\nprobe(flags)",
        "y = x.abs()\nout = model(y).cpu()\nprobe(y[0])",
        "y = x.abs()\nz = y + 1\nout = model(z).cpu()\nprobe(y.sum())",
    ],
)
def test_what_is_computed_from_an_operand_is_where_the_result_is(body: str) -> None:
    assert beside(body) in ("model(y)", "model(z)")


@pytest.mark.parametrize(
    "body",
    [
        "y = x.abs()\nout = model(y.to(device)).cpu()\nprobe(y < 3)",
        "y = torch.ones(3)\nout = model(y).cpu()\nprobe(y < 3)",
        "y = x.abs()\nz = y.cpu()\nout = model(y).cpu()\nprobe(z < 3)",
        "y = x.abs()\nout = model(y)\nprobe(y < 3)",
        "y = x.abs()\nout = model(3).cpu()\nprobe(y < 3)",
        "y = len(device)\nout = model(y).cpu()\nprobe(y * 3)",
    ],
)
def test_nothing_follows_from_other_calls(body: str) -> None:
    assert beside(body) is None


WRITE = """
import torch
def {name}({argument}):
    if {test}:
        w = w.view(torch.int16)
    probe(w)
"""


def named(name: str, argument: str = "w", test: str = "w.dtype == torch.bfloat16") -> bool:
    context, node = probe(WRITE.format(name=name, argument=argument, test=test))
    return offloaded(context, node) is not None


def test_what_is_offloaded_comes_from_a_device() -> None:
    assert named("offload_weight")


def test_a_function_for_something_else_may_have_it_on_the_cpu() -> None:
    assert not named("write_weight")


def test_a_function_that_speaks_of_the_cpu_knows_where_its_tensor_is() -> None:
    assert not named("offload_weight", test='w.device.type == "cpu"')
