"""A device that its own file only looks at, and others place with, is told where it is chosen."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.worlds.conftest import told_in_project

NET = """\
import torch
import config

net = torch.nn.Linear(3, 3).to(config.{name})
"""
CHOICE = 'torch.device("cuda" if torch.cuda.is_available() else "cpu")'
LOOKS = ("print(DEVICE)", 'gpus = 1 if DEVICE == "cuda" else 0', "logging.info(DEVICE)")


def told(cli: Cli, device: str, look: str, name: str = "DEVICE") -> set[str]:
    config = f"import logging\nimport torch\n\nDEVICE = {device}\n{look}\n"
    files = {"README.md": "", "config.py": config, "net.py": NET.format(name=name)}
    return {code for path, _, code in told_in_project(cli, files) if path == "config.py"}


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize(("device", "code"), [(CHOICE, "MPS103"), ('"cuda"', "MPS101")])
def test_it_is_told_where_others_take_it(
    cli: Cli, project: Path, device: str, code: str, look: str
) -> None:
    assert told(cli, device, look) == {code}


@pytest.mark.parametrize("look", LOOKS)
def test_what_nobody_takes_places_nothing(cli: Cli, project: Path, look: str) -> None:
    assert not told(cli, '"cuda"', look, name="OTHER")


def test_what_is_placed_with_is_told_once(cli: Cli, project: Path) -> None:
    assert told(cli, '"cuda"', "print(torch.ones(3, device=DEVICE))") == {"MPS101"}


def test_nobody_takes_it_from_a_program(cli: Cli, project: Path) -> None:
    assert not told(cli, '"cuda"', "for _ in range(3):\n    print(DEVICE)")
