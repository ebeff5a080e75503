"""Texts that name the device, where it is chosen elsewhere."""

from __future__ import annotations

import pytest

from mpslint.semantics.announcements import untrue_on_mps
from mpslint.semantics.context import Context
from mpslint.settings import Settings
from mpslint.source import SourceFile

SAID = """
if torch.cuda.is_available():
    print("on one GPU")
else:
    print("on the CPU")
"""


def lines(program: str) -> list[int]:
    source = SourceFile("program.py", ("import torch\n" + program).encode())
    context = Context(source, source.parse(), Settings())
    return [node.lineno for node, _ in untrue_on_mps(context)]


@pytest.mark.parametrize(
    "chosen",
    ["from . import devices", 'def pick():\n    return "mps" if asked() else "cpu"'],
)
def test_the_text_is_untrue_where_the_device_may_be_mps(chosen: str) -> None:
    assert len(lines(chosen + SAID)) == 1


@pytest.mark.parametrize(
    "chosen",
    [
        "",
        "from . import devices\nnet = net.cuda()",
        'from . import devices\nwhere = "cuda" if torch.cuda.is_available() else "cpu"',
        "from . import devices\nassert not torch.backends.mps.is_available()",
    ],
)
def test_the_text_is_true_where_only_cuda_and_the_cpu_can_be_chosen(chosen: str) -> None:
    assert lines(chosen + SAID) == []


@pytest.mark.parametrize("flag", ["in_colab", "IN_KAGGLE", "in_colab_or_kaggle"])
def test_no_mac_comes_to_a_notebook_that_runs_elsewhere(flag: str) -> None:
    inside = "".join(f"    {line}\n" for line in SAID.strip().split("\n"))
    assert lines(f"from . import devices\nif {flag}:\n{inside}") == []
