"""Cells of marimo's notebooks have what other cells import, by the names of their parameters."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

_NOTEBOOK = """
import marimo

app = marimo.App(width="full")


{decorator}
def _():
    {imported}

    return (torch,)


@app.cell
def _(torch):
    class Agent:
        def __init__(self):
            self.device = torch.device({device})
            self.net = torch.nn.Linear(2, 2).to(self.device)

    return (Agent,)
"""
_ASKED = '"cuda" if torch.cuda.is_available() else "cpu"'


def _codes(cli: Cli, project: Path, **parts: str) -> list[str]:
    given = {"decorator": "@app.cell", "imported": "import torch", "device": _ASKED, **parts}
    (project / "lesson.py").write_text(_NOTEBOOK.format(**given))
    ran = cli("check", "--output-format", "json", "lesson.py")
    return [finding["code"] for finding in json.loads(ran.out)]


@pytest.mark.parametrize("decorator", ["@app.cell", "@app.cell(hide_code=True)"])
def test_a_choice_in_one_cell_asks_the_torch_of_another(
    cli: Cli, project: Path, decorator: str
) -> None:
    assert _codes(cli, project, decorator=decorator) == ["MPS103"]


def test_a_device_that_no_cell_asks_about_is_told(cli: Cli, project: Path) -> None:
    assert _codes(cli, project, device='"cuda"') == ["MPS101"]


def test_a_function_that_is_no_cell_hands_nothing_on(cli: Cli, project: Path) -> None:
    assert _codes(cli, project, decorator="@app.function") == ["MPS101"]
