"""Beside a solver of SciPy, which computes in float64, one float32 alone lets nothing on MPS."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli

_SOLVES = """import torch
from scipy import integrate


def solve(model, start, device):
    def slope(t, y):
        return model(torch.tensor(y, device=device)).cpu()

    start = torch.cat([start, torch.zeros(3, dtype=torch.float64, device=device)])
    return {call}


device = "mps" if torch.backends.mps.is_available() else "cpu"
print(solve(torch.nn.Linear(3, 3).to(device), torch.zeros(0, device=device), device))
"""


@pytest.mark.parametrize(
    ("call", "is_fixed"),
    [("integrate.solve_ivp(slope, (0, 1), start.cpu())", False), ("slope(0, start)", True)],
)
def test_it_is_made_only_where_nothing_of_scipy_is_on_the_way(
    cli: Cli, project: Path, call: str, is_fixed: bool
) -> None:
    script = project / "run.py"
    script.write_text(_SOLVES.format(call=call))

    cli("fix", "--no-verify", "--no-cache", "run.py")

    assert ("dtype=torch.float32 if" in script.read_text()) is is_fixed


def test_the_reason_is_said(cli: Cli, project: Path) -> None:
    (project / "run.py").write_text(
        _SOLVES.format(call="integrate.solve_ivp(slope, (0, 1), start)")
    )

    said = cli("check", "--no-cache", "--output-format", "full", "run.py").out

    assert "line 10: solve_ivp() computes in float64" in said.replace("\n", " ")
