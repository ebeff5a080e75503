"""A fix whose program keeps a choice of the CPU that nothing mends is offered at no level: what
goes to MPS would meet what stays."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from mpslint.cli.fix import run

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Cli

PLACING = """\
import torch


def prepare_device(wanted):
    number = torch.cuda.device_count()
    if wanted > number:
        print("there are only", number)
        wanted = number
    return torch.device("cuda" if wanted > 0 else "cpu"), number
"""
ASKING = """\
import torch


def prepare_device(wanted):
    return torch.device("cuda" if torch.cuda.is_available() else "cpu"), []
"""
PROGRAM = """\
import torch

from placing import prepare_device


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net = torch.nn.Linear(2, 2)
    {placed}
    print(net(torch.ones(1, 2).to(device)))


if __name__ == "__main__":
    main()
"""
PLACED = "net.to(prepare_device(1)[0])"


@pytest.fixture
def program(project: Path) -> Path:
    (project / "placing.py").write_text(PLACING)
    (project / "main.py").write_text(PROGRAM.format(placed=PLACED))
    return project / "main.py"


def choice(cli: Cli) -> dict[str, str | None]:
    """What is told of the choice of the program."""
    told = json.loads(cli("check", "--output-format", "json").out)
    (found,) = [one for one in told if one["filename"].endswith("main.py")]
    assert isinstance(found, dict)
    return found


def test_what_would_meet_a_model_that_stays_has_no_fix(cli: Cli, program: Path) -> None:
    found = choice(cli)
    assert found["fix"] is None
    assert "placing.py, line 5" in str(found["no_fix"])


def test_who_asks_for_unsafe_fixes_does_not_get_it_either(program: Path) -> None:
    before = program.read_text()
    run(["--no-verify", "--no-cache", "--quiet", "--unsafe-fixes", str(program.parent)])
    assert program.read_text() == before


def test_what_no_program_runs_beside_it_is_ported(cli: Cli, program: Path) -> None:
    program.write_text(PROGRAM.format(placed="net.to(device)"))
    assert choice(cli)["fix"] is not None


def test_what_is_mended_with_it_is_ported(cli: Cli, program: Path) -> None:
    (program.parent / "placing.py").write_text(ASKING)
    assert choice(cli)["fix"] is not None
