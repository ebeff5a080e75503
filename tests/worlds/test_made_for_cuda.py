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


_PROGRAM = """
import sys

import torch


class Decoder(torch.nn.Module):
    def __init__(self, checkpoint):
        super().__init__()
        self.name = torch.cuda.get_device_name(0) + checkpoint


def main(model):
    print("training", model)
    {joins}
    model = torch.nn.parallel.DistributedDataParallel(model)
    model(torch.ones(2))


{more}
if __name__ == "__main__":
    net = Decoder(sys.argv[1])
    {then}
"""
_JOINS = 'torch.distributed.init_process_group("nccl")'


@pytest.mark.parametrize(
    ("joins", "more", "then", "told"),
    [
        (_JOINS, "", "main(net)", False),
        ("pass", "", "main(net)", False),
        (_JOINS, "", "print(net(torch.ones(2)))", True),
        (
            f"if len(sys.argv) < 3:\n        return print(model)\n    {_JOINS}",
            "",
            "main(net)",
            True,
        ),
        (_JOINS, "decoder = Decoder('here')", "main(net)", True),
    ],
)
def test_what_a_program_for_nccl_alone_makes_before_it_joins_is_for_that(
    cli: Cli, project: Path, joins: str, more: str, then: str, told: bool
) -> None:
    program = _PROGRAM.format(joins=joins, more=more, then=then)
    (project / "decode.py").write_text(program)
    assert ("MPS206" in cli("check", "--no-cache", "decode.py").out) is told


def test_what_others_make_as_well_is_for_all(cli: Cli, project: Path) -> None:
    program = _PROGRAM.format(joins=_JOINS, more="", then="main(net)")
    (project / "decode.py").write_text(program)
    (project / "show.py").write_text("from decode import Decoder\n\nprint(Decoder('here'))\n")
    assert "MPS206" in cli("check", "--no-cache", "decode.py").out
