"""No fix takes to MPS what is computed with data that have no way there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Cli

PROGRAM = """\
{}
import torch

from loading import loader


def run(net):
    for graph, target in loader:
        graph = graph.to(torch.device("cuda"))
        print(net(graph) - target.cuda())


run(torch.nn.Linear(2, 2).cuda())
"""


@pytest.mark.parametrize(("imported", "offered"), [("import dgl", False), ("import os", True)])
def test_graphs_keep_their_model_beside_them(
    cli: Cli, project: Path, imported: str, offered: bool
) -> None:
    (project / "main.py").write_text(PROGRAM.format(imported))
    told = json.loads(cli("check", "--output-format", "json").out)
    moves = [one for one in told if one["code"] in ("MPS101", "MPS102")]
    assert {one["fix"] is not None for one in moves} == {offered}
