"""`check` foresees that what says that it is float64 is told its dtype once its move is fixed."""

from __future__ import annotations

import json
from pathlib import Path

from conftest import Cli

_TEXT = """\
import torch

net = torch.nn.Linear(2, 2).cuda()
data = torch.zeros(2, dtype=torch.float64).cuda()
print(net.weight.shape, data)
"""
_BESIDE = 'dtype=torch.float32 if device.type == "mps" else torch.float64'


def _levels(cli: Cli, *options: str) -> dict[tuple[str, int], str | None]:
    found = json.loads(cli("check", *options, "--output-format", "json", "run.py").out)
    return {
        (row["code"], row["location"]["row"]): row["fix"] and row["fix"]["applicability"]
        for row in found
    }


def test_the_moves_beside_it_are_safe(cli: Cli, project: Path) -> None:
    (project / "run.py").write_text(_TEXT)

    assert _levels(cli) == {
        ("MPS102", 3): "safe",
        ("MPS102", 4): "safe",
        ("MPS401", 4): "safe",
    }


def test_fix_does_what_check_has_promised(cli: Cli, project: Path) -> None:
    (project / "run.py").write_text(_TEXT)

    cli("fix", "--no-verify", "run.py")

    text = (project / "run.py").read_text()
    assert "net = torch.nn.Linear(2, 2).to(device)" in text
    assert _BESIDE in text


def test_nothing_is_promised_where_its_move_stays(cli: Cli, project: Path) -> None:
    (project / "run.py").write_text(_TEXT)

    assert _levels(cli, "--select", "MPS401") == {("MPS401", 4): None}
