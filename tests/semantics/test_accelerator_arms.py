"""Dispatches over several accelerators that leave MPS out."""

from __future__ import annotations

import ast
import textwrap

import pytest

from mpslint.semantics.accelerator_arms import Arms, arms_without_mps
from mpslint.semantics.context import Context
from mpslint.settings import Settings
from mpslint.source import SourceFile

TWO = """
if device == "cuda":
    torch.cuda.empty_cache()
elif device == "xpu":
    torch.xpu.empty_cache()
"""


def arms_of(body: str) -> Arms | None:
    program = "import torch\ndef release(device):\n" + textwrap.indent(body, "    ")
    source = SourceFile("program.py", program.encode())
    context = Context(source, source.parse(), Settings())
    call = next(context.calls_of("torch.cuda.empty_cache"))
    return arms_without_mps(context, call)


def test_every_backend_that_is_served_is_named() -> None:
    arms = arms_of(TWO + 'elif device == "npu":\n    torch.npu.empty_cache()\n')
    assert arms is not None
    assert arms.served == "CUDA, XPU and NPU"


def test_a_list_that_turns_mps_away_is_found_in_front_of_the_dispatch() -> None:
    arms = arms_of('if device not in ("cuda", "xpu"):\n    return\n' + TWO)
    assert arms is not None
    assert arms.refusal is not None
    assert ast.unparse(arms.refusal.test) == "device not in ('cuda', 'xpu')"


@pytest.mark.parametrize(
    "body",
    [
        TWO + "else:\n    release_all()\n",
        'if device == "mps":\n    return\n' + TWO,
        "# Metal's MPS frees by itself.\n" + TWO,
        TWO.replace("torch.xpu.empty_cache()", "torch.xpu.synchronize()"),
        TWO.replace("torch.xpu.empty_cache()", "torch.xpu.empty_cache()\n    count()"),
        TWO.replace("torch.xpu.empty_cache()", "pass"),
        'if device == "cuda":\n    torch.cuda.empty_cache()\n',
    ],
)
def test_whoever_decided_about_the_rest_has_not_left_mps_out(body: str) -> None:
    assert arms_of(body) is None
