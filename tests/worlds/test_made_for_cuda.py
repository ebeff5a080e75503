"""A class is for the machines of those who make objects of it, where they do nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli

_NEIGHBOURS = """
import torch
from torch_cluster import radius_graph


class Distance(torch.nn.Module):
    def __init__(self):
        super(Distance, self).__init__()

    def forward(self, x):
        return radius_graph(x, 1.0)


def benchmark(x):
    model = Distance()
    {captured}
    return model(x)
{more}
"""
_CAPTURED = "graph = torch.cuda.CUDAGraph()"


@pytest.mark.parametrize(
    ("captured", "more", "told"),
    [
        (_CAPTURED, "", False),
        ("graph = None", "", True),
        (f"if x.is_cuda:\n        {_CAPTURED}", "", True),
        (_CAPTURED, "\n\nmodel = Distance()\n", True),
    ],
)
def test_what_is_made_for_a_graph_of_cuda_alone_is_cuda_s(
    cli: Cli, project: Path, captured: str, more: str, told: bool
) -> None:
    (project / "neighbours.py").write_text(_NEIGHBOURS.format(captured=captured, more=more))
    assert ("MPS501" in cli("check", "--no-cache", "neighbours.py").out) is told
